// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static io.rdmashuffle.text.Quantities.mebibytes;

import io.rdmashuffle.memory.host.CgroupMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Limits of this host for a pool, read once at start, so that a pool that is too large is detected then and not hours
 * later.
 *
 * <p><b>Source:</b> proc(5) (/proc/self/limits); {@link CgroupMemory}.
 *
 * @param directoryFreeBytes space left in the pool's directory
 * @param containerBytes memory limit of the container; empty when there is none
 * @param memlockBytes how much may be pinned; empty when unlimited
 * @param heapBytes maximum heap of the JVM, which is part of the same container
 * @param otherBytes other configured memory of the container: off-heap memory and Python's
 */
public record HostLimits(
        long directoryFreeBytes,
        OptionalLong containerBytes,
        OptionalLong memlockBytes,
        long heapBytes,
        long otherBytes) {
    /** Memory of some thousand connections: queues of 16 to 32 KiB each, and memory for messages. */
    private static final long QUEUES_BYTES = 64L << 20;

    /** The JVM needs a part of the rest, in addition to heap and pool, for threads, buffers and classes. */
    private static final long SHARE_OF_REST = 2;

    /** Largest part of a directory that the first region may use, if the directory has less than the cap. */
    private static final long FIRST_PARTS_OF_DIRECTORY = 16;

    /** Later regions take more: a map output in few extents is read with few requests. */
    private static final long PARTS_OF_DIRECTORY = 4;

    private static final Pattern MEMLOCK = Pattern.compile("Max locked memory\\s+(\\S+)\\s.*");

    /**
     * Reads the limits that hold for this process and a pool.
     *
     * @param otherBytes see {@link #otherBytes()}
     * @throws UncheckedIOException if there is no such directory
     */
    public static HostLimits read(PoolSettings settings, long otherBytes) {
        return new HostLimits(
                settings.freeBytes(),
                CgroupMemory.limit(),
                memlock(),
                Runtime.getRuntime().maxMemory(),
                otherBytes);
    }

    /** Returns the reason why the container cannot hold a pool, with the limit and the remedy; empty if it can. */
    public Optional<String> containerShortage(PoolSettings settings) {
        if (containerBytes.isEmpty() || settings.capBytes() <= restBytes()) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "spark.shuffle.rdma.pool.maxSize=%s plus the heap of %s and %s of off-heap and Python memory exceed the"
                        + " container's memory limit of %s; raise spark.executor.memoryOverhead by the size of"
                        + " the pool, or lower spark.shuffle.rdma.pool.maxSize",
                mebibytes(settings.capBytes()),
                mebibytes(heapBytes),
                mebibytes(otherBytes),
                mebibytes(containerBytes.getAsLong())));
    }

    /** Returns the reason why the directory cannot hold a pool; empty if it can. */
    public Optional<String> directoryShortage(PoolSettings settings) {
        if (settings.capBytes() <= directoryFreeBytes) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "spark.shuffle.rdma.pool.maxSize=%s exceeds the %s free in %s; enlarge that file"
                        + " system (docker: --shm-size, Kubernetes: an emptyDir of medium Memory there), name"
                        + " another tmpfs in spark.shuffle.rdma.pool.directory, or lower"
                        + " spark.shuffle.rdma.pool.maxSize",
                mebibytes(settings.capBytes()),
                mebibytes(directoryFreeBytes),
                settings.directory()));
    }

    /**
     * Returns the reason why the pages of a pool cannot be pinned; empty if they can. The kernel charges them once per
     * port, and the queues of connections additionally.
     *
     * @param times how many times over the pages are pinned; 0 if they are not
     */
    public Optional<String> pinShortage(PoolSettings settings, int times) {
        if (times == 0 || memlockBytes.isEmpty()) {
            return Optional.empty();
        }
        long needed = pinnedBytes(settings.capBytes(), times);
        if (needed <= memlockBytes.getAsLong()) {
            return Optional.empty();
        }
        return Optional.of(String.format(
                Locale.ROOT,
                "spark.shuffle.rdma.pool.maxSize=%s, pinned for %d RDMA port(s), and queues need %s of locked"
                        + " memory, and RLIMIT_MEMLOCK is %s; raise it (ulimit -l, or LimitMEMLOCK= of the"
                        + " service) or lower spark.shuffle.rdma.pool.maxSize",
                mebibytes(settings.capBytes()),
                times,
                mebibytes(needed),
                mebibytes(memlockBytes.getAsLong())));
    }

    /** Returns the maximum of pinned bytes: the pool once per port, and queues of connections. */
    public static long pinnedBytes(long capBytes, int times) {
        return Math.addExact(Math.multiplyExact(capBytes, times), QUEUES_BYTES);
    }

    /** Returns the memory limit of the container that this process is in, as a file system tells it; empty if none. */
    public static OptionalLong containerBytes(Path fileSystem) {
        return CgroupMemory.limit(fileSystem);
    }

    /**
     * Returns a pool that this host can hold. If the container is too small, the pool has half of the memory that heap
     * and others leave. If the directory is too small, the pool has small regions, because executors that start later
     * on this host need at least a directory for their disk tiers. The first region is the smallest.
     *
     * @param leastRegionBytes minimum bytes of a region
     */
    public PoolSettings fitted(PoolSettings settings, long leastRegionBytes) {
        PoolSettings contained = containerShortage(settings).isEmpty()
                ? settings
                : settings.withCap(Math.max(0, restBytes() / SHARE_OF_REST));
        if (directoryShortage(contained).isEmpty()) {
            return contained;
        }
        long first = Math.max(leastRegionBytes, directoryFreeBytes / FIRST_PARTS_OF_DIRECTORY);
        return contained.inPieces(first, Math.max(first, directoryFreeBytes / PARTS_OF_DIRECTORY));
    }

    private long restBytes() {
        return containerBytes.orElse(Long.MAX_VALUE) - heapBytes - otherBytes;
    }

    private static OptionalLong memlock() {
        return mayLockAnything(readString(Path.of("/proc/self/status")))
                ? OptionalLong.empty()
                : memlock(readString(Path.of("/proc/self/limits")));
    }

    /** Returns whether this process has CAP_IPC_LOCK (14), for which the limit does not hold; see capabilities(7). */
    public static boolean mayLockAnything(String status) {
        return status.lines()
                .filter(line -> line.startsWith("CapEff:"))
                .map(line -> Long.parseUnsignedLong(
                        line.substring("CapEff:".length()).strip(), 16))
                .anyMatch(capabilities -> (capabilities >>> 14 & 1) != 0);
    }

    /** Reads the soft limit of locked memory out of /proc/self/limits; empty if there is none. */
    public static OptionalLong memlock(String limits) {
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
