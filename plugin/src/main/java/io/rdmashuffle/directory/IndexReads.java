// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.StoredSlice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the indexes of a peer's map outputs: one alone, or many at once.
 *
 * <p>A reduce task needs a few bytes of each of thousands of indexes, none of which is in a cache. One after the other,
 * each costs a round trip to the peer, or where memory is mapped, several accesses to it. Many at once, the round trips
 * and the accesses overlap.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing.
 */
final class IndexReads {
    /** Of one read: far more than a thousand map outputs take, and little beside blocks in flight. */
    private static final long BATCH_BYTES = 256 << 10;

    private final Peer peer;
    private final BlockingReads reads;
    /** Keeps the compiler from leaving out loads whose value is not used yet. */
    @SuppressWarnings("UnusedVariable")
    private long touched;

    IndexReads(Peer peer, BlockingReads reads) {
        this.peer = peer;
        this.reads = reads;
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
        try (RemoteBytes index = reads.read(peer, MapOutputIndex.slicesFor(entry, wanted.start(), wanted.end()))) {
            return MapOutputIndex.read(entry, wanted.start(), index.slices());
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw damaged(entry, e);
        }
    }

    /**
     * Reads from many indexes.
     *
     * @return in the same order; null for those that {@link #one} would throw a {@link DirectoryFormatException} for
     * @throws IOException if the peer cannot be read
     */
    List<@Nullable BlockRange> many(List<WantedRange> wanted) throws IOException {
        Map<Integer, RemoteView> regions = new HashMap<>();
        try {
            List<@Nullable BlockRange> inPlace = inPlace(wanted, regions);
            return inPlace != null ? inPlace : copied(wanted);
        } finally {
            regions.values().forEach(RemoteView::close);
        }
    }

    /** Null if this fabric can only copy. */
    private @Nullable List<@Nullable BlockRange> inPlace(List<WantedRange> wanted, Map<Integer, RemoteView> regions)
            throws IOException {
        @Nullable StoredSlice[] indexes = new StoredSlice[wanted.size()];
        for (int i = 0; i < indexes.length; i++) {
            DirectoryEntry entry = wanted.get(i).entry();
            if (wanted.get(i).isEmpty()) {
                continue;
            }
            RemoteView region = regions.get(entry.indexRegion());
            if (region == null) {
                region = peer.region(entry.indexRegion());
                if (region == null) {
                    return null;
                }
                regions.put(entry.indexRegion(), region);
            }
            indexes[i] = region.bytes();
        }
        touch(wanted, indexes);
        List<@Nullable BlockRange> ranges = new ArrayList<>(wanted.size());
        for (int i = 0; i < indexes.length; i++) {
            StoredSlice region = indexes[i];
            ranges.add(decode(
                    wanted.get(i),
                    region == null
                            ? null
                            : each -> MapOutputIndex.read(each.entry(), region, each.start(), each.end())));
        }
        return ranges;
    }

    /** Loads something of every index. With nothing between the loads the processor waits for many at a time. */
    private void touch(List<WantedRange> wanted, @Nullable StoredSlice[] regions) {
        long sum = 0;
        for (int i = 0; i < regions.length; i++) {
            long offset = MapOutputIndex.rowOffset(
                    wanted.get(i).entry(), wanted.get(i).start());
            if (regions[i] instanceof MemorySlice region
                    && offset >= 0
                    && offset <= region.lengthBytes() - Integer.BYTES) {
                sum += region.getInt(offset);
            }
        }
        touched = sum;
    }

    private List<@Nullable BlockRange> copied(List<WantedRange> wanted) throws IOException {
        List<@Nullable BlockRange> ranges = new ArrayList<>(wanted.size());
        List<RemoteSlice> batch = new ArrayList<>();
        long bytes = 0;
        int first = 0;
        for (int i = 0; i < wanted.size(); i++) {
            for (RemoteSlice slice : slicesOf(wanted.get(i))) {
                batch.add(slice);
                bytes += slice.lengthBytes();
            }
            if (bytes >= BATCH_BYTES || i == wanted.size() - 1) {
                readBatch(wanted.subList(first, i + 1), batch, ranges);
                first = i + 1;
                batch.clear();
                bytes = 0;
            }
        }
        return ranges;
    }

    private void readBatch(List<WantedRange> wanted, List<RemoteSlice> slices, List<@Nullable BlockRange> ranges)
            throws IOException {
        if (slices.isEmpty()) {
            wanted.forEach(each -> ranges.add(decode(each, null)));
            return;
        }
        try (RemoteBytes bytes = reads.read(peer, slices)) {
            int next = 0;
            for (WantedRange each : wanted) {
                int count = slicesOf(each).size();
                List<StoredSlice> parts = bytes.slices().subList(next, next + count);
                ranges.add(decode(
                        each, count == 0 ? null : found -> MapOutputIndex.read(found.entry(), found.start(), parts)));
                next += count;
            }
        }
    }

    /** Returns the parts of an index that tell; none for an output without bytes, or where the numbers cannot be. */
    private static List<RemoteSlice> slicesOf(WantedRange wanted) {
        try {
            return MapOutputIndex.slicesFor(wanted.entry(), wanted.start(), wanted.end());
        } catch (DirectoryFormatException | IllegalArgumentException noIndex) {
            return List.of();
        }
    }

    /** How the bytes of an index become a range. */
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
