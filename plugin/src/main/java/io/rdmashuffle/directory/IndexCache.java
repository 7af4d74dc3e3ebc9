// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Cache of complete indexes of peers' map outputs, so that reduce tasks of an executor do not each read a row of every
 * index.
 *
 * <p>Each task reads a row of each index, one after another. An LRU cache a little smaller than all of them would hit
 * nothing: it drops just the index that is needed next. A full cache therefore admits only one in {@value #ADMITTED}
 * new indexes, in place of an old one, so that its hit rate is about the share of the indexes that it has room for
 * (bimodal insertion: Qureshi et al., "Adaptive Insertion Policies for High Performance Caching", ISCA 2007). Indexes
 * of shuffles that are no longer read give way first.
 *
 * <p><b>Threading:</b> thread-safe; lookups take no lock.
 */
public final class IndexCache {
    /** Divisor of the heap size. */
    private static final long HEAP_SHARE = 32;

    /** A full cache admits one in this many new indexes. */
    private static final int ADMITTED = 16;

    /** An executor among more than this many needs less than this part of an index's rows. */
    private static final int FEW_EXECUTORS = 16;

    /** One short READ costs about as much as several of single rows. */
    private static final long SHORT_BYTES = 512;

    /** Larger ones are never read whole: more than 5000 tasks of an executor would each need a row. */
    private static final long MAX_WHOLE_BYTES = 64 << 10;

    private final long maximumBytes;
    private final IntSupplier executors;
    private final ConcurrentMap<Object, ConcurrentMap<Integer, CachedShuffle>> directories = new ConcurrentHashMap<>();
    private final LongAdder reads = new LongAdder();

    /** Shuffles of directories that have an index here; the next one to lose an index is the first. */
    private final LinkedHashSet<CachedShuffle> inTurn = new LinkedHashSet<>();

    private final SplittableRandom random = new SplittableRandom(1);
    private long bytes;
    private long indexes;

    /** New indexes that met a full cache since unused shuffles were last dropped. */
    private long refusals;

    /**
     * The indexes of one shuffle in one directory.
     *
     * <p><b>Threading:</b> guarded by the cache's lock, except {@link #get}.
     */
    private static final class CachedShuffle {
        private final Object directory;
        private final int shuffleId;
        /** Map ids in the order in which their indexes came. */
        private final Deque<Long> order = new ArrayDeque<>();

        private final ConcurrentMap<Long, IndexRows> indexes = new ConcurrentHashMap<>();
        private volatile boolean used = true;
        private long bytes;

        CachedShuffle(Object directory, int shuffleId) {
            this.directory = directory;
            this.shuffleId = shuffleId;
        }

        @Nullable
        IndexRows get(long mapId) {
            if (!used) {
                used = true;
            }
            return indexes.get(mapId);
        }
    }

    /**
     * Starts without an index.
     *
     * @param maximumBytes of the heap, about
     * @param executors number of executors among which the tasks of a stage are divided, about
     */
    public IndexCache(long maximumBytes, IntSupplier executors) {
        this.maximumBytes = maximumBytes;
        this.executors = executors;
    }

    /** Starts without an index, in a small cluster. */
    public IndexCache(long maximumBytes) {
        this(maximumBytes, () -> 1);
    }

    /** Returns a cache that takes a small part of this process's heap at most. */
    public static IndexCache ofHeap(IntSupplier executors) {
        return new IndexCache(Runtime.getRuntime().maxMemory() / HEAP_SHARE, executors);
    }

    /** Returns an index; null if it is not known, or only where it was before its output moved. */
    @Nullable
    IndexRows get(Object directory, int shuffleId, DirectoryEntry entry) {
        Map<Integer, CachedShuffle> shuffles = directories.get(directory);
        CachedShuffle shuffle = shuffles == null ? null : shuffles.get(shuffleId);
        IndexRows known = shuffle == null ? null : shuffle.get(entry.mapId());
        return known != null && known.isOf(entry) ? known : null;
    }

    /**
     * Returns whether to read an index whole and remember it, rather than read the rows that one task needs: if it is
     * short, or this executor will need many of its rows; and if there is room for it, or it may replace others.
     */
    boolean wants(DirectoryEntry entry) {
        long length = MapOutputIndex.lengthBytes(entry.partitions(), entry.extents());
        boolean isRead = length <= SHORT_BYTES || (length <= MAX_WHOLE_BYTES && executors.getAsInt() <= FEW_EXECUTORS);
        return isRead && admits(IndexRows.heapBytes(entry.partitions(), entry.extents()));
    }

    private synchronized boolean admits(long added) {
        if (bytes + added > maximumBytes && ++refusals > indexes) {
            dropUnused();
        }
        return bytes + added <= maximumBytes || (added <= maximumBytes && random.nextInt(ADMITTED) == 0);
    }

    /** Drops the indexes of shuffles from which none was requested since the last call. */
    private void dropUnused() {
        refusals = 0;
        for (Iterator<CachedShuffle> each = inTurn.iterator(); each.hasNext(); ) {
            CachedShuffle shuffle = each.next();
            if (shuffle.used) {
                shuffle.used = false;
            } else {
                each.remove();
                unlink(shuffle);
            }
        }
    }

    /** Remembers an index, in place of one of the same map output and of the oldest ones if the cache is full. */
    synchronized void put(Object directory, int shuffleId, DirectoryEntry entry, IndexRows index) {
        CachedShuffle shuffle = directories
                .computeIfAbsent(directory, first -> new ConcurrentHashMap<>())
                .computeIfAbsent(shuffleId, first -> new CachedShuffle(directory, shuffleId));
        inTurn.add(shuffle);
        IndexRows before = shuffle.indexes.put(entry.mapId(), index);
        if (before == null) {
            shuffle.order.add(entry.mapId());
            indexes++;
        }
        long added = index.heapBytes() - (before == null ? 0 : before.heapBytes());
        shuffle.bytes += added;
        bytes += added;
        while (bytes > maximumBytes) {
            dropOldest();
        }
    }

    private void dropOldest() {
        Iterator<CachedShuffle> first = inTurn.iterator();
        CachedShuffle shuffle = first.next();
        first.remove();
        IndexRows dropped = shuffle.indexes.remove(shuffle.order.remove());
        if (dropped != null) {
            shuffle.bytes -= dropped.heapBytes();
            bytes -= dropped.heapBytes();
        }
        indexes--;
        if (shuffle.order.isEmpty()) {
            unlink(shuffle);
        } else {
            inTurn.add(shuffle);
        }
    }

    /** Counts pieces of indexes that were read from a peer, whether they are remembered or not. */
    void countReads(int pieces) {
        reads.add(pieces);
    }

    /** Returns the number of pieces of indexes read from peers. */
    public long reads() {
        return reads.sum();
    }

    /** Drops the indexes of a shuffle. */
    synchronized void forget(Object directory, int shuffleId) {
        Map<Integer, CachedShuffle> shuffles = directories.get(directory);
        CachedShuffle shuffle = shuffles == null ? null : shuffles.get(shuffleId);
        if (shuffle != null) {
            inTurn.remove(shuffle);
            unlink(shuffle);
        }
    }

    /** Drops all indexes of a directory. */
    synchronized void forget(Object directory) {
        Map<Integer, CachedShuffle> shuffles = directories.remove(directory);
        if (shuffles != null) {
            for (CachedShuffle each : shuffles.values()) {
                inTurn.remove(each);
                uncount(each);
            }
        }
    }

    private void unlink(CachedShuffle shuffle) {
        Map<Integer, CachedShuffle> shuffles = directories.get(shuffle.directory);
        if (shuffles != null && shuffles.remove(shuffle.shuffleId, shuffle)) {
            uncount(shuffle);
            if (shuffles.isEmpty()) {
                directories.remove(shuffle.directory);
            }
        }
    }

    private void uncount(CachedShuffle shuffle) {
        bytes -= shuffle.bytes;
        indexes -= shuffle.order.size();
    }

    /** Returns about how many bytes of the heap the indexes take. */
    public synchronized long bytes() {
        return bytes;
    }
}
