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
 * the peer; many at once, the round trips overlap. An index is read whole, unless it is large, and remembered: the next
 * task of this executor needs the next row of it. Where memory is mapped nothing is read ahead: see {@link
 * MapOutputIndex#block}.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> {@link #forget} drops its entries of the cache.
 */
final class IndexReads {
    /**
     * Larger ones are read in parts. Most of an executor's tasks need a row of each index: of one like this they would
     * need 5000 READs.
     */
    private static final long MAX_WHOLE_BYTES = 64 << 10;

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
     * @return in the same order; null where {@link #one} would throw a {@link DirectoryFormatException}
     * @throws IOException if the peer cannot be read
     */
    List<@Nullable BlockRange> many(List<WantedRange> wanted) throws IOException {
        Map<DirectoryEntry, IndexRows> whole = wholeIndexes(wanted);
        Map<WantedRange, BlockRange> parts = new HashMap<>();
        List<WantedRange> large = wanted.stream()
                .filter(each -> !isSmall(each.entry()) && !whole.containsKey(each.entry()))
                .toList();
        readBatches(large, (each, bytes) -> {
            BlockRange range = decode(each, found -> MapOutputIndex.read(found.entry(), found.start(), bytes));
            if (range != null) {
                parts.put(each, range);
            }
        });
        List<@Nullable BlockRange> ranges = new ArrayList<>(wanted.size());
        for (WantedRange each : wanted) {
            IndexRows index = whole.get(each.entry());
            if (index != null) {
                ranges.add(decode(each, found -> index.range(found.start(), found.end())));
            } else {
                BlockRange part = parts.get(each);
                ranges.add(part != null ? part : decode(each, null));
            }
        }
        return ranges;
    }

    /** Returns the indexes that are cached or small, without damaged ones. */
    private Map<DirectoryEntry, IndexRows> wholeIndexes(List<WantedRange> wanted) throws IOException {
        Map<DirectoryEntry, IndexRows> whole = new HashMap<>();
        Map<DirectoryEntry, WantedRange> missing = new LinkedHashMap<>();
        for (WantedRange each : wanted) {
            IndexRows known = cache.get(this, each.shuffleId(), each.entry());
            if (known != null) {
                whole.put(each.entry(), known);
            } else if (isSmall(each.entry())) {
                missing.putIfAbsent(each.entry(), allOf(each));
            }
        }
        readBatches(missing.values(), (each, bytes) -> {
            IndexRows index = keep(each, bytes);
            if (index != null) {
                whole.put(each.entry(), index);
            }
        });
        return whole;
    }

    private static WantedRange allOf(WantedRange wanted) {
        return new WantedRange(
                wanted.shuffleId(), wanted.entry(), 0, wanted.entry().partitions());
    }

    private static boolean isSmall(DirectoryEntry entry) {
        return entry.extents() > 0
                && entry.partitions() > 0
                && MapOutputIndex.lengthBytes(entry.partitions(), entry.extents()) <= MAX_WHOLE_BYTES;
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
     * Starts reads of all cacheable indexes that are neither cached nor in flight, concurrently.
     *
     * @param executor processes arrived indexes; must run every task
     * @return completes when they have arrived; fails with a {@link io.rdmashuffle.fabric.ReadFailedException}
     */
    CompletableFuture<Void> prefetch(int shuffleId, List<DirectoryEntry> entries, Executor executor) {
        CompletableFuture<Void> own = new CompletableFuture<>();
        List<WantedRange> claimed = new ArrayList<>();
        Set<CompletableFuture<Void>> all = new HashSet<>();
        for (DirectoryEntry entry : entries) {
            if (isSmall(entry) && cache.get(this, shuffleId, entry) == null) {
                WantedRange whole = new WantedRange(shuffleId, entry, 0, entry.partitions());
                CompletableFuture<Void> other = underWay.putIfAbsent(whole, own);
                if (other == null) {
                    claimed.add(whole);
                } else {
                    all.add(other);
                }
            }
        }
        if (!claimed.isEmpty()) {
            all.add(own);
            CompletableFuture<Void> unused = start(claimed, executor).whenComplete((done, failure) -> {
                claimed.forEach(each -> underWay.remove(each, own));
                KnownShuffle.complete(own, failure);
            });
        }
        return CompletableFuture.allOf(all.toArray(CompletableFuture<?>[]::new));
    }

    private CompletableFuture<Void> start(List<WantedRange> wanted, Executor executor) {
        List<CompletableFuture<Void>> started = new ArrayList<>();
        for (Batch batch : batches(wanted)) {
            cache.countReads(batch.slices().size());
            started.add(reads.start(peer, batch.slices()).thenAcceptAsync(bytes -> keep(batch, bytes), executor));
        }
        return CompletableFuture.allOf(started.toArray(CompletableFuture<?>[]::new));
    }

    private void keep(Batch batch, RemoteBytes bytes) {
        try (bytes) {
            batch.take(bytes, this::keep);
        }
    }

    /** Remembers an index unless it is damaged; then whoever needs it reads it again, and says so. */
    private @Nullable IndexRows keep(WantedRange whole, List<StoredSlice> bytes) {
        BlockRange all = decode(whole, found -> MapOutputIndex.read(found.entry(), 0, bytes));
        if (all == null) {
            return null;
        }
        IndexRows index = IndexRows.of(whole.entry(), all);
        cache.put(this, whole.shuffleId(), whole.entry(), index);
        return index;
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
