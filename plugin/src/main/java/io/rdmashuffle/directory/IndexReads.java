// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the indexes of a peer's map outputs: one alone, or many at once.
 *
 * <p>A reduce task needs a few bytes of each of thousands of indexes. One after the other, each costs a round trip to
 * the peer; many at once, the round trips overlap. Whether an index is read whole and remembered, or only its rows that
 * a task needs, is the {@link IndexCache}'s decision. Where memory is mapped nothing is read ahead: see {@link
 * MapOutputIndex#block}.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> {@link #forget} drops its entries of the cache.
 */
final class IndexReads {
    /** Of one read: far more than a thousand map outputs take, and little beside blocks in flight. */
    private static final long BATCH_BYTES = 256 << 10;

    private final Peer peer;
    private final BlockingReads reads;
    private final IndexCache cache;
    private final ConcurrentMap<WantedRange, CompletableFuture<Void>> underWay = new ConcurrentHashMap<>();

    IndexReads(Peer peer, BlockingReads reads, IndexCache cache) {
        this.peer = peer;
        this.reads = reads;
        this.cache = cache;
    }

    /**
     * Reads from one index.
     *
     * @throws IOException if it cannot be read or is damaged
     */
    BlockRange one(WantedRange wanted) throws IOException {
        DirectoryEntry entry = wanted.entry();
        entry.checkPartitions(wanted.start(), wanted.end());
        if (wanted.isEmpty()) {
            return BlockRange.empty(wanted.end() - wanted.start());
        }
        IndexRows known = cache.get(this, wanted.shuffleId(), entry);
        if (known != null) {
            return known.range(wanted.start(), wanted.end());
        }
        try (RemoteBytes index = reads.read(peer, MapOutputIndex.slicesFor(entry, wanted.start(), wanted.end()))) {
            return MapOutputIndex.read(entry, wanted.start(), index.slices());
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw damaged(entry, e);
        }
    }

    /**
     * Reads from many indexes.
     *
     * @param rows rows that were read before
     * @return in the same order; null where {@link #one} would throw a {@link DirectoryFormatException}
     * @throws IOException if the peer cannot be read
     */
    List<@Nullable BlockRange> many(List<WantedRange> wanted, PrefetchedRows rows) throws IOException {
        Map<DirectoryEntry, WantedRange> spans = new LinkedHashMap<>();
        for (WantedRange each : wanted) {
            if (each.hasRows()) {
                spans.merge(each.entry(), each, WantedRange::and);
            }
        }
        Map<DirectoryEntry, IndexRows> found = found(spans.values(), rows);
        List<@Nullable BlockRange> ranges = new ArrayList<>(wanted.size());
        for (WantedRange each : wanted) {
            IndexRows index = found.get(each.entry());
            ranges.add(decode(each, index == null ? null : range -> index.range(range.start(), range.end())));
        }
        return ranges;
    }

    /** Finds rows that are remembered, and reads the others; without damaged ones. */
    private Map<DirectoryEntry, IndexRows> found(Collection<WantedRange> spans, PrefetchedRows rows)
            throws IOException {
        Map<DirectoryEntry, IndexRows> found = new HashMap<>();
        List<WantedRange> whole = new ArrayList<>();
        List<WantedRange> parts = new ArrayList<>();
        for (WantedRange each : spans) {
            IndexRows cached = cache.get(this, each.shuffleId(), each.entry());
            IndexRows known = cached == null ? rows.get(each) : cached;
            if (known != null) {
                found.put(each.entry(), known);
            } else if (isReadWhole(each)) {
                whole.add(each.whole());
            } else {
                parts.add(each);
            }
        }
        readBatches(whole, (each, bytes) -> putUnlessNull(found, each, keep(each, bytes)));
        readBatches(parts, (each, bytes) -> putUnlessNull(found, each, rows(each, bytes)));
        return found;
    }

    private static void putUnlessNull(
            Map<DirectoryEntry, IndexRows> found, WantedRange wanted, @Nullable IndexRows rows) {
        if (rows != null) {
            found.put(wanted.entry(), rows);
        }
    }

    /** Returns whether the index is read whole for partitions that are not all: other tasks need the others. */
    private boolean isReadWhole(WantedRange wanted) {
        return !wanted.isWhole() && cache.wants(wanted.entry());
    }

    /** Consumer of the requested bytes of an index. */
    private interface Arrival {
        void of(WantedRange wanted, List<StoredSlice> bytes);
    }

    /** Parts of indexes that are read together. */
    private record Batch(List<WantedRange> wanted, List<RemoteSlice> slices) {
        void take(RemoteBytes bytes, Arrival arrival) {
            int next = 0;
            for (WantedRange each : wanted) {
                int count = slicesOf(each).size();
                arrival.of(each, bytes.slices().subList(next, next + count));
                next += count;
            }
        }
    }

    /** Divides parts of indexes among reads; what no part was asked of is left out. */
    private static List<Batch> batches(Collection<WantedRange> wanted) {
        List<Batch> batches = new ArrayList<>();
        long bytes = BATCH_BYTES;
        for (WantedRange each : wanted) {
            List<RemoteSlice> parts = slicesOf(each);
            if (parts.isEmpty()) {
                continue;
            }
            long length = parts.stream().mapToLong(RemoteSlice::lengthBytes).sum();
            if (bytes + length > BATCH_BYTES) {
                batches.add(new Batch(new ArrayList<>(), new ArrayList<>()));
                bytes = 0;
            }
            Batch last = batches.get(batches.size() - 1);
            last.wanted().add(each);
            last.slices().addAll(parts);
            bytes += length;
        }
        return batches;
    }

    private void readBatches(Collection<WantedRange> wanted, Arrival arrival) throws IOException {
        for (Batch batch : batches(wanted)) {
            cache.countReads(batch.slices().size());
            try (RemoteBytes bytes = reads.read(peer, batch.slices())) {
                batch.take(bytes, arrival);
            }
        }
    }

    /**
     * Starts reads of rows that are neither remembered nor in flight, concurrently.
     *
     * @param start first partition that the task needs of each
     * @param end partition after the last one; the same if that is not known, and whole indexes are read only
     * @param executor processes arrived rows; must run every task
     * @return completes with the rows that only this task needs when all have arrived; fails with a {@link
     *     io.rdmashuffle.fabric.ReadFailedException}
     */
    CompletableFuture<PrefetchedRows> prefetch(
            int shuffleId, List<DirectoryEntry> entries, int start, int end, Executor executor) {
        CompletableFuture<Void> own = new CompletableFuture<>();
        List<WantedRange> claimed = new ArrayList<>();
        List<WantedRange> parts = new ArrayList<>();
        Set<CompletableFuture<Void>> all = new HashSet<>();
        for (DirectoryEntry entry : entries) {
            WantedRange wanted = new WantedRange(shuffleId, entry, start, end);
            WantedRange whole = wanted.whole();
            if (!whole.hasRows() || cache.get(this, shuffleId, entry) != null) {
                continue;
            }
            CompletableFuture<Void> other = underWay.get(whole);
            if (other == null && isReadWhole(wanted)) {
                other = underWay.putIfAbsent(whole, own);
                if (other == null) {
                    claimed.add(whole);
                }
            } else if (other == null && wanted.hasRows()) {
                parts.add(wanted);
            }
            if (other != null) {
                all.add(other);
            }
        }
        PrefetchedRows rows = new PrefetchedRows();
        if (!claimed.isEmpty()) {
            all.add(own);
            Arrival whole = (each, bytes) -> putPart(rows, each.entry(), start, end, keep(each, bytes));
            CompletableFuture<Void> unused = start(claimed, executor, whole).whenComplete((done, failure) -> {
                claimed.forEach(each -> underWay.remove(each, own));
                KnownShuffle.complete(own, failure);
            });
        }
        all.add(start(parts, executor, (each, bytes) -> rows.put(each.entry(), rows(each, bytes))));
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new)).thenApply(done -> rows);
    }

    /** Adds the rows that a task needs: until it uses them, the cache may have dropped the index. */
    private static void putPart(
            PrefetchedRows rows, DirectoryEntry entry, int start, int end, @Nullable IndexRows index) {
        if (index != null && start < end && index.has(start, end)) {
            rows.put(entry, IndexRows.of(entry, start, index.range(start, end)));
        }
    }

    private CompletableFuture<Void> start(List<WantedRange> wanted, Executor executor, Arrival arrival) {
        List<CompletableFuture<Void>> started = new ArrayList<>();
        for (Batch batch : batches(wanted)) {
            cache.countReads(batch.slices().size());
            started.add(
                    reads.start(peer, batch.slices()).thenAcceptAsync(bytes -> take(batch, bytes, arrival), executor));
        }
        return CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new));
    }

    private static void take(Batch batch, RemoteBytes bytes, Arrival arrival) {
        try (bytes) {
            batch.take(bytes, arrival);
        }
    }

    /** Remembers an index unless it is damaged; then whoever needs it reads it again, and says so. */
    private @Nullable IndexRows keep(WantedRange whole, List<StoredSlice> bytes) {
        IndexRows index = rows(whole, bytes);
        if (index != null) {
            cache.put(this, whole.shuffleId(), whole.entry(), index);
        }
        return index;
    }

    /** Null for a damaged index. */
    private static @Nullable IndexRows rows(WantedRange wanted, List<StoredSlice> bytes) {
        BlockRange range = decode(wanted, found -> MapOutputIndex.read(found.entry(), found.start(), bytes));
        return range == null ? null : IndexRows.of(wanted.entry(), wanted.start(), range);
    }

    /** Drops the cached indexes of a shuffle. */
    void forget(int shuffleId) {
        cache.forget(this, shuffleId);
    }

    /** Drops all that is remembered. */
    void forget() {
        cache.forget(this);
    }

    /** Returns the parts of an index that tell; none for an output without bytes, or where the numbers cannot be. */
    private static List<RemoteSlice> slicesOf(WantedRange wanted) {
        try {
            return MapOutputIndex.slicesFor(wanted.entry(), wanted.start(), wanted.end());
        } catch (DirectoryFormatException | IllegalArgumentException noIndex) {
            return List.of();
        }
    }

    /** Decoder of a range from bytes of an index. */
    private interface Decoding {
        BlockRange of(WantedRange wanted) throws IOException;
    }

    /** Null for a damaged index; there is no decoding for an output without an index. */
    private static @Nullable BlockRange decode(WantedRange wanted, @Nullable Decoding index) {
        try {
            wanted.entry().checkPartitions(wanted.start(), wanted.end());
            if (index == null) {
                return wanted.isEmpty() ? BlockRange.empty(wanted.end() - wanted.start()) : null;
            }
            return index.of(wanted);
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException damaged) {
            return null;
        }
    }

    private static DirectoryFormatException damaged(DirectoryEntry entry, RuntimeException cause) {
        DirectoryFormatException damaged =
                new DirectoryFormatException("index of map " + entry.mapId() + " is damaged: " + cause.getMessage());
        damaged.initCause(cause);
        return damaged;
    }
}
