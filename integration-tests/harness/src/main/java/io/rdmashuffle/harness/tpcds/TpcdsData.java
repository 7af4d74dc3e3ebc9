// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * All 24 tables at one scale, made once and kept: {@code <data>/tpcds-sf<scale>/<table>/*.parquet}.
 *
 * <p>A marker file, written last, says that the folder is complete; a folder without it is removed and made again.
 *
 * <p><b>Threading:</b> one thread; a lock file keeps other processes away while the tables are made.
 */
public final class TpcdsData {
    private static final String MARKER = "_COMPLETE";
    /** At scale 1, 1.2 GB of text and 0.4 GB of Parquet beside it, with some room. */
    private static final long BYTES_OF_SCALE_ONE = 2_000_000_000L;

    private static final double GIGABYTE = 1e9;
    private static final long TIMEOUT_SECONDS = 12L * 3600;

    private final Path parent;
    private final Path folder;
    private final BigDecimal scale;

    /** Names the data of one scale below a folder; nothing is made yet. */
    public TpcdsData(Path parent, BigDecimal scale) {
        this.scale = scale.stripTrailingZeros();
        this.parent = parent.toAbsolutePath().normalize();
        this.folder = this.parent.resolve("tpcds-sf" + this.scale.toPlainString());
    }

    /** Returns the folder that holds one folder a table. */
    public Path folder() {
        return folder;
    }

    /** Returns whether the tables are there, all of them. */
    public boolean isComplete() {
        return Files.isRegularFile(folder.resolve(MARKER));
    }

    /**
     * Creates the tables unless they exist; refuses while another process creates them.
     *
     * @param progress receives the current step, in a few words
     */
    public void ensure(Workspace workspace, Consumer<String> progress) throws IOException, InterruptedException {
        if (isComplete()) {
            return;
        }
        Path lockFile = Files.createDirectories(parent).resolve(folder.getFileName() + ".lock");
        try (FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock == null) {
                throw new IOException("another process is making " + folder + "; wait until it is done");
            }
            generate(workspace, progress);
        }
    }

    private void generate(Workspace workspace, Consumer<String> progress) throws IOException, InterruptedException {
        if (Files.exists(folder)) {
            progress.accept("an earlier generation did not finish: removing " + folder);
            delete(folder);
        }
        checkSpace(Files.getFileStore(parent).getUsableSpace());
        Path text = Files.createDirectories(folder.resolve("text"));
        Path log = Files.createDirectories(workspace.target("harness").resolve("tpcds"))
                .resolve("data.log");
        Files.deleteIfExists(log);
        SparkHome home = SparkHome.of(workspace);
        long started = System.nanoTime();
        progress.accept("generating TPC-DS rows at scale " + scale.toPlainString() + " (log: " + log + ")");
        FolderGrowth growth = new FolderGrowth(text, "text", progress);
        try {
            generator(workspace, text).run(log, TIMEOUT_SECONDS);
        } finally {
            growth.close();
        }
        progress.accept("writing Parquet below " + folder);
        toParquet(workspace, home, text, log, progress);
        delete(text);
        Files.writeString(folder.resolve(MARKER), "TPC-DS at scale " + scale.toPlainString() + "\n");
        progress.accept("data ready after " + (System.nanoTime() - started) / 1_000_000_000L + " s");
    }

    /** Refuses what would fill the file system: text and Parquet are there at the same time. */
    void checkSpace(long free) throws IOException {
        double wanted = scale.doubleValue() * BYTES_OF_SCALE_ONE;
        if (wanted > free) {
            throw new IOException(String.format(
                    Locale.ROOT,
                    "TPC-DS at scale %s takes %.1f GB while it is made and %s has %.1f GB; make room, or name"
                            + " another folder (--data)",
                    scale.toPlainString(),
                    wanted / GIGABYTE,
                    parent,
                    free / GIGABYTE));
        }
    }

    private void toParquet(Workspace workspace, SparkHome home, Path text, Path log, Consumer<String> progress)
            throws IOException, InterruptedException {
        JavaProcess writer = new JavaProcess(
                        ParquetWriter.class.getName(), text.toString(), folder.toString(), scale.toPlainString())
                .spark(home, JavaModuleOptions.defaultModuleOptions())
                .application(workspace)
                .options("-Xmx2g");
        FolderGrowth growth = new FolderGrowth(folder, "text and Parquet", progress);
        try {
            writer.run(log, TIMEOUT_SECONDS);
        } finally {
            growth.close();
        }
    }

    private JavaProcess generator(Workspace workspace, Path text) {
        int threads = Runtime.getRuntime().availableProcessors();
        // The generator splits only tables of a million rows and more, so more chunks do no harm to small scales.
        int chunks = Math.max(threads, scale.intValue() * 4);
        return new JavaProcess(
                        TextGenerator.class.getName(),
                        text.toString(),
                        scale.toPlainString(),
                        Integer.toString(chunks),
                        Integer.toString(threads))
                .classPath(workspace.target("harness").resolve("tpcds-lib") + File.separator + "*")
                .classPath(workspace.jar("harness").toString());
    }

    private static void delete(Path tree) throws IOException {
        List<Path> deepestFirst;
        try (Stream<Path> paths = Files.walk(tree)) {
            deepestFirst = paths.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : deepestFirst) {
            Files.delete(path);
        }
    }
}
