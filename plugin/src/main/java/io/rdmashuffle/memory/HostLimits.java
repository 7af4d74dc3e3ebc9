// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What this host allows a pool to be, read once at start, so that a pool too large is refused then and not at hour
 * three.
 *
 * <p><b>Source:</b> proc(5) (/proc/self/limits), cgroups(7) (memory.max, memory.limit_in_bytes).
 *
 * @param directoryFreeBytes space left in the pool's directory
 * @param containerBytes memory limit of the container; empty when there is none
 * @param memlockBytes how much may be pinned; empty when unlimited
 * @param heapBytes the virtual machine's largest heap, which lives in the same container
 */
public record HostLimits(
        long directoryFreeBytes, OptionalLong containerBytes, OptionalLong memlockBytes, long heapBytes) {
    private static final List<Path> CONTAINER_FILES =
            List.of(Path.of("/sys/fs/cgroup/memory.max"), Path.of("/sys/fs/cgroup/memory/memory.limit_in_bytes"));

    /** Version 1 of cgroups writes "no limit" as a number near 2^63. */
    private static final long NO_LIMIT_FROM = 1L << 60;

    private static final Pattern MEMLOCK = Pattern.compile("Max locked memory\\s+(\\S+)\\s.*");

    /** Reads the limits that hold for this process and a pool in {@code directory}. */
    public static HostLimits read(Path directory) {
        return new HostLimits(
                freeBytes(directory),
                containerLimit(),
                memlock(),
                Runtime.getRuntime().maxMemory());
    }

    /**
     * Refuses a pool that this host cannot hold.
     *
     * @param pinned whether a device will pin the pool's pages
     * @throws IllegalArgumentException naming the limit, its value and what to raise
     */
    public void check(PoolSettings settings, boolean pinned) {
        long cap = settings.capBytes();
        if (cap > directoryFreeBytes) {
            throw new IllegalArgumentException(String.format(
                    Locale.ROOT,
                    "spark.shuffle.rdma.pool.maxSize=%d (bytes) exceeds the %d bytes free in %s; enlarge that file"
                            + " system (docker: --shm-size, Kubernetes: an emptyDir of medium Memory there), name"
                            + " another tmpfs in spark.shuffle.rdma.pool.directory, or lower the key",
                    cap,
                    directoryFreeBytes,
                    settings.directory()));
        }
        containerBytes.ifPresent(limit -> checkContainer(cap, limit));
        if (pinned && memlockBytes.isPresent() && cap > memlockBytes.getAsLong()) {
            throw new IllegalArgumentException(String.format(
                    Locale.ROOT,
                    "spark.shuffle.rdma.pool.maxSize=%d (bytes) exceeds RLIMIT_MEMLOCK, now %d; raise it (ulimit -l, or"
                            + " LimitMEMLOCK= of the service) or lower the key",
                    cap,
                    memlockBytes.getAsLong()));
        }
    }

    private void checkContainer(long cap, long limit) {
        if (cap > limit - heapBytes) {
            throw new IllegalArgumentException(String.format(
                    Locale.ROOT,
                    "spark.shuffle.rdma.pool.maxSize=%d plus the heap of %d exceed the container's memory limit of %d"
                            + " (bytes); raise spark.executor.memoryOverhead by the size of the pool, or lower the key",
                    cap,
                    heapBytes,
                    limit));
        }
    }

    private static long freeBytes(Path directory) {
        try {
            return Files.getFileStore(directory).getUsableSpace();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot access " + directory + "; set spark.shuffle.rdma.pool.directory to an existing tmpfs", e);
        }
    }

    private static OptionalLong containerLimit() {
        for (Path file : CONTAINER_FILES) {
            if (Files.isReadable(file)) {
                return containerLimit(readString(file));
            }
        }
        return OptionalLong.empty();
    }

    static OptionalLong containerLimit(String content) {
        String text = content.strip();
        if (text.equals("max")) {
            return OptionalLong.empty();
        }
        long bytes = Long.parseLong(text);
        return bytes >= NO_LIMIT_FROM ? OptionalLong.empty() : OptionalLong.of(bytes);
    }

    private static OptionalLong memlock() {
        return mayLockAnything(readString(Path.of("/proc/self/status")))
                ? OptionalLong.empty()
                : memlock(readString(Path.of("/proc/self/limits")));
    }

    /** Returns whether this process has CAP_IPC_LOCK (14), for which the limit does not hold; see capabilities(7). */
    static boolean mayLockAnything(String status) {
        return status.lines()
                .filter(line -> line.startsWith("CapEff:"))
                .map(line -> Long.parseUnsignedLong(
                        line.substring("CapEff:".length()).strip(), 16))
                .anyMatch(capabilities -> (capabilities >>> 14 & 1) != 0);
    }

    static OptionalLong memlock(String limits) {
        Matcher line = limits.lines()
                .map(MEMLOCK::matcher)
                .filter(Matcher::matches)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no 'Max locked memory' in /proc/self/limits"));
        return line.group(1).equals("unlimited")
                ? OptionalLong.empty()
                : OptionalLong.of(Long.parseLong(line.group(1)));
    }

    private static String readString(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
