// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The folders of one run: logs, which stay, and the local directories of Spark, which go.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing removes the local directories, as does the end of the
 * process.
 */
final class RunFolders implements AutoCloseable {
    private final Path logs;
    private final Path disk;
    private final Path tmpfs;
    private final Thread atEnd = new Thread(this::removeQuietly, "remove-bench-folders");

    /**
     * Makes them.
     *
     * @param diskParent takes the local directories that are on disk; null for the folder of logs
     * @param tmpfsParent takes that of the contender whose files are in memory
     */
    RunFolders(Workspace workspace, @Nullable Path diskParent, Path tmpfsParent) throws IOException {
        Path parent = Files.createDirectories(workspace.target("benchmarks").resolve("bench"));
        this.logs = Files.createTempDirectory(parent, "shuffle-");
        this.disk = Files.createTempDirectory(diskParent == null ? logs : diskParent.toAbsolutePath(), "rdma-bench-");
        this.tmpfs = Files.createTempDirectory(tmpfsParent.toAbsolutePath(), "rdma-bench-");
        Runtime.getRuntime().addShutdownHook(atEnd);
    }

    Path logs() {
        return logs;
    }

    Path log(Contender contender) {
        return logs.resolve(contender.label() + ".log");
    }

    /** Returns the folder of a contender's garbage collection logs. */
    GarbageLog garbage(Contender contender) throws IOException {
        return new GarbageLog(Files.createDirectories(logs.resolve(contender.label() + "-gc")));
    }

    /** Returns a contender's {@code spark.local.dir}. */
    Path local(Contender contender) throws IOException {
        Path parent = contender == Contender.SORT_TMPFS ? tmpfs : disk;
        return Files.createDirectories(parent.resolve(contender.label()));
    }

    /** Says which file systems the contenders' files are on. */
    String fileSystems() throws IOException {
        return "local directories: " + type(disk) + " for sort-disk and ours, " + type(tmpfs) + " for sort-tmpfs";
    }

    private static String type(Path folder) throws IOException {
        return Files.getFileStore(folder).type();
    }

    @Override
    public void close() throws IOException {
        Runtime.getRuntime().removeShutdownHook(atEnd);
        remove();
    }

    private void removeQuietly() {
        try {
            remove();
        } catch (IOException e) {
            System.err.println("cannot remove " + disk + " or " + tmpfs + ": " + e.getMessage());
        }
    }

    private void remove() throws IOException {
        Workspace.deleteTree(disk);
        Workspace.deleteTree(tmpfs);
    }
}
