// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Small file system in memory, as a fillable replacement of {@code /dev/shm}.
 *
 * <p>Needs root. <b>Threading:</b> one thread. <b>Ownership:</b> closing removes it.
 *
 * <p><b>Source:</b> tmpfs(5).
 */
final class SmallMemory implements AutoCloseable {
    private static final long END_SECONDS = 20;
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Path path;

    private SmallMemory(Path path) {
        this.path = path;
    }

    /** Mounts one, or skips the test where that is not allowed. */
    static SmallMemory mount(String size) throws IOException {
        Path path = Files.createTempDirectory(Path.of("/dev/shm"), "rdma-it-small-");
        try {
            Commands.orSkip("mount", "-t", "tmpfs", "-o", "size=" + size, "rdma-it", path.toString());
        } catch (IOException | RuntimeException e) {
            Files.delete(path);
            throw e;
        }
        return new SmallMemory(path);
    }

    Path path() {
        return path;
    }

    long usedBytes() {
        File directory = path.toFile();
        return directory.getTotalSpace() - directory.getFreeSpace();
    }

    /** Writes another program's file until not a byte is left. */
    void fill() throws IOException {
        byte[] block = new byte[4_096];
        try (OutputStream file = Files.newOutputStream(filler())) {
            while (true) {
                file.write(block);
            }
        } catch (IOException full) {
            if (path.toFile().getUsableSpace() != 0) {
                throw full;
            }
        }
    }

    /** Removes that file. */
    void empty() throws IOException {
        Files.delete(filler());
    }

    private Path filler() {
        return path.resolve("another-programs-file");
    }

    /** Executors end a moment after their cluster has; until then their pools keep the file system busy. */
    @Override
    public void close() throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        while (!isUnmounted(deadline)) {
            LockSupport.parkNanos(POLL_NANOS);
        }
        Files.delete(path);
    }

    private boolean isUnmounted(long deadline) throws IOException {
        try {
            Commands.run("umount", path.toString());
            return true;
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException busy) {
            if (System.nanoTime() - deadline > 0) {
                throw busy;
            }
            return false;
        }
    }
}
