// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Search for slots of shuffles in the tables of a peer's directory, with a cache of known tables.
 *
 * <p>A shuffle is usually in the first table, unless its slot was occupied. Tables never move, and a table is complete
 * before it is linked; so a search finds every shuffle that was published before it started, in any order of reads.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns nothing.
 */
final class RemoteTables {
    private final Peer peer;
    private final BlockingReads reads;
    private volatile List<DirectoryLocation> known;

    RemoteTables(Peer peer, BlockingReads reads, DirectoryLocation first) {
        this.peer = peer;
        this.reads = reads;
        this.known = List.of(first);
    }

    /**
     * Result of a search.
     *
     * @param slot a copy of the shuffle's live slot; null if there is none
     * @param place where the slot is
     * @param torn whether a record was half written: without a slot, repeat the search
     */
    record Search(@Nullable ByteBuffer slot, RemoteSlice place, boolean torn) {}

    /** Returns the location of a shuffle's slot in the first table. */
    RemoteSlice home(int shuffleId) {
        return slotOf(known.get(0), shuffleId);
    }

    /**
     * Looks a shuffle up in all tables.
     *
     * @throws IOException if a table cannot be read or is damaged
     */
    Search find(int shuffleId) throws IOException {
        while (true) {
            List<DirectoryLocation> tables = known;
            Search search = findIn(tables, shuffleId);
            if (search.slot() != null || search.torn()) {
                return search;
            }
            ByteBuffer last = header(tables.get(tables.size() - 1));
            if (last == null) {
                return new Search(null, search.place(), true);
            }
            DirectoryLocation next = next(last);
            if (next == null) {
                return search;
            }
            ByteBuffer nextHeader = header(next);
            if (nextHeader == null) {
                return new Search(null, search.place(), true);
            }
            add(tables, last, next, nextHeader);
        }
    }

    private Search findIn(List<DirectoryLocation> tables, int shuffleId) throws IOException {
        List<RemoteSlice> places = places(tables, shuffleId);
        try (RemoteBytes bytes = reads.read(peer, places)) {
            return search(shuffleId, places, bytes);
        }
    }

    /** Returns the possible locations of a shuffle's slot in the known tables, at least one. */
    List<RemoteSlice> places(int shuffleId) {
        return places(known, shuffleId);
    }

    private static List<RemoteSlice> places(List<DirectoryLocation> tables, int shuffleId) {
        return tables.stream().map(table -> slotOf(table, shuffleId)).toList();
    }

    /**
     * Looks a shuffle up in slots that have been read.
     *
     * @throws DirectoryFormatException if one is damaged
     */
    static Search search(int shuffleId, List<RemoteSlice> places, RemoteBytes bytes) throws DirectoryFormatException {
        boolean torn = false;
        for (int i = 0; i < places.size(); i++) {
            // A slot that was never used is all zeros, and has no checksum.
            if (bytes.memory(i).getInt(DirectoryLayout.SLOT_LIVE) == 0) {
                continue;
            }
            ByteBuffer slot = DirectoryLayout.snapshot(bytes.memory(i));
            if (slot == null) {
                torn = true;
                continue;
            }
            int state = slot.getInt(DirectoryLayout.SLOT_LIVE);
            if (state != 0 && state != 1) {
                throw new DirectoryFormatException("slot of shuffle " + shuffleId + " in unknown state " + state);
            }
            if (state == 1 && slot.getInt(DirectoryLayout.SLOT_SHUFFLE) == shuffleId) {
                return new Search(slot, places.get(i), false);
            }
        }
        return new Search(null, places.get(0), torn);
    }

    /** Returns a copy of a table's header; null if it was caught half written. */
    private @Nullable ByteBuffer header(DirectoryLocation table) throws IOException {
        RemoteSlice slice = table.table();
        RemoteSlice header = new RemoteSlice(slice.regionId(), slice.offset(), DirectoryLayout.RECORD_BYTES);
        try (RemoteBytes bytes = reads.read(peer, List.of(header))) {
            return DirectoryLayout.snapshot(bytes.memory(0));
        }
    }

    /** Returns the table that a header leads to; null if there is none. */
    private static @Nullable DirectoryLocation next(ByteBuffer header) throws DirectoryFormatException {
        int slots = header.getInt(DirectoryLayout.HEADER_NEXT_SLOTS);
        return slots == 0
                ? null
                : DirectoryLocation.of(
                        header.getInt(DirectoryLayout.HEADER_NEXT_REGION),
                        header.getLong(DirectoryLayout.HEADER_NEXT_OFFSET),
                        slots);
    }

    private synchronized void add(
            List<DirectoryLocation> tables, ByteBuffer last, DirectoryLocation next, ByteBuffer header)
            throws DirectoryFormatException {
        boolean isTable = header.getInt(DirectoryLayout.HEADER_SLOTS) == next.slots()
                && header.slice(DirectoryLayout.HEADER_INCARNATION, 16)
                        .equals(last.slice(DirectoryLayout.HEADER_INCARNATION, 16))
                && header.getLong(0) == DirectoryLayout.MAGIC
                && header.getInt(DirectoryLayout.HEADER_VERSION) == DirectoryLayout.VERSION;
        if (!isTable || tables.contains(next) || tables.size() >= DirectoryLayout.MAX_TABLES) {
            throw new DirectoryFormatException("a table of the directory leads to " + next + ", which is no table");
        }
        if (known.equals(tables)) {
            List<DirectoryLocation> more = new ArrayList<>(tables);
            more.add(next);
            known = List.copyOf(more);
        }
    }

    private static RemoteSlice slotOf(DirectoryLocation location, int shuffleId) {
        RemoteSlice table = location.table();
        return new RemoteSlice(
                table.regionId(),
                table.offset() + DirectoryLayout.slotOffset(shuffleId, location.slots()),
                DirectoryLayout.RECORD_BYTES);
    }
}
