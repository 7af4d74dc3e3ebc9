// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * LRU cache of complete indexes of peers' map outputs, so that reduce tasks of an executor do not each read a row of
 * every index.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class IndexCache {
    /** Divisor of the heap size. */
    private static final long HEAP_SHARE = 32;

    private final long maximumBytes;
    private final LinkedHashMap<Key, IndexRows> indexes = new LinkedHashMap<>(16, 0.75f, true);
    private long bytes;
    private long reads;

    /** An index by its owner's directory, which is one object, and what Spark calls it. */
    private record Key(Object directory, int shuffleId, long mapId) {
        boolean isOf(Object of, int shuffle) {
            return directory == of && shuffleId == shuffle;
        }
    }

    /**
     * Starts without an index.
     *
     * @param maximumBytes of the heap, about
     */
    public IndexCache(long maximumBytes) {
        this.maximumBytes = maximumBytes;
    }

    /** Returns a cache that takes a small part of this process's heap at most. */
    public static IndexCache ofHeap() {
        return new IndexCache(Runtime.getRuntime().maxMemory() / HEAP_SHARE);
    }

    /** Returns an index; null if it is not known, or only where it was before its output moved. */
    @Nullable
    synchronized IndexRows get(Object directory, int shuffleId, DirectoryEntry entry) {
        IndexRows known = indexes.get(new Key(directory, shuffleId, entry.mapId()));
        return known != null && known.isOf(entry) ? known : null;
    }

    /** Remembers an index, in place of one of the same map output. */
    synchronized void put(Object directory, int shuffleId, DirectoryEntry entry, IndexRows index) {
        IndexRows before = indexes.put(new Key(directory, shuffleId, entry.mapId()), index);
        bytes += index.heapBytes() - (before == null ? 0 : before.heapBytes());
        var oldest = indexes.entrySet().iterator();
        while (bytes > maximumBytes && oldest.hasNext()) {
            drop(oldest.next());
            oldest.remove();
        }
    }

    /** Counts pieces of indexes that were read from a peer, whether they are remembered or not. */
    synchronized void countReads(int pieces) {
        reads += pieces;
    }

    /** Returns the number of pieces of indexes read from peers. */
    public synchronized long reads() {
        return reads;
    }

    /** Drops the indexes of a shuffle. */
    synchronized void forget(Object directory, int shuffleId) {
        indexes.entrySet().removeIf(each -> each.getKey().isOf(directory, shuffleId) && drop(each));
    }

    /** Drops all indexes of a directory. */
    synchronized void forget(Object directory) {
        indexes.entrySet().removeIf(each -> each.getKey().directory() == directory && drop(each));
    }

    private boolean drop(Map.Entry<Key, IndexRows> dropped) {
        bytes -= dropped.getValue().heapBytes();
        return true;
    }

    /** Returns about how many bytes of the heap the indexes take. */
    public synchronized long bytes() {
        return bytes;
    }
}
