// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.tpcds;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Reports from time to time the progress of something that fills a folder.
 *
 * <p><b>Threading:</b> speaks on a thread of its own. <b>Ownership:</b> closing ends that thread.
 */
final class FolderGrowth {
    private static final long PERIOD_SECONDS = 30;
    private static final double GIGABYTE = 1e9;

    private final Path folder;
    private final String what;
    private final Consumer<String> progress;
    private final long started = System.nanoTime();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(run -> {
        Thread thread = new Thread(run, "folder-growth");
        thread.setDaemon(true);
        return thread;
    });

    /**
     * Starts to watch.
     *
     * @param what fills the folder, in a few words
     * @param progress receives messages
     */
    FolderGrowth(Path folder, String what, Consumer<String> progress) {
        this.folder = folder;
        this.what = what;
        this.progress = progress;
        var unused = timer.scheduleAtFixedRate(this::tell, PERIOD_SECONDS, PERIOD_SECONDS, TimeUnit.SECONDS);
    }

    private void tell() {
        try {
            progress.accept(line(bytes(folder)));
        } catch (IOException | UncheckedIOException moved) {
            // A file went while it was looked at: the next look has the sum.
            progress.accept(what + ": at work");
        }
    }

    private String line(long bytes) {
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - started);
        return String.format(Locale.ROOT, "%s: %.1f GB after %d s", what, bytes / GIGABYTE, seconds);
    }

    /** Returns the bytes of all files below a folder, 0 if it is not there. */
    static long bytes(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return 0;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile)
                    .mapToLong(file -> file.toFile().length())
                    .sum();
        }
    }

    void close() {
        timer.shutdownNow();
    }
}
