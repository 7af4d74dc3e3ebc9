// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.memory.Region;
import java.util.Arrays;

/**
 * Addresses and rkeys of a process's regions. Region ids count from 0 and are never reused, so a released region stays
 * absent. The table has all existing regions with ids below a bound. Its size, and the number of queries, depend on
 * existing regions only.
 *
 * <pre>
 *  query, 16 bytes                      response, 16 + n * 24 bytes, little-endian
 *   0  4  magic "RQ01"                   0  4  magic "RT03"
 *   4  4  first region wanted            4  4  bound: number of ids that have been used
 *   8  8  zero                           8  4  first region wanted, at most the bound
 *                                       12  4  regions n, at most 32
 *                                       16     n times, ids ascending: 8 address, 8 length, 4 rkey, 4 id
 * </pre>
 *
 * A response lists all regions that exist from the first one wanted on, or 32 of them; then what follows the last one
 * is still unknown. Ids are below those of the disk tier; at most {@link #MAX_REGIONS} exist.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class RegionTable {
    /** No region is known. */
    public static final RegionTable EMPTY = new RegionTable(0, new int[0], new long[0], new long[0], new int[0]);

    /** More than the 65,530 mappings that Linux allows a process (vm.max_map_count), each of which is a region. */
    public static final int MAX_REGIONS = 1 << 16;

    public static final int QUERY_BYTES = 16;
    private static final int MAX_TOLD = 32;
    private static final int HEADER_BYTES = 16;
    private static final int ENTRY_BYTES = 24;
    public static final int MAX_RESPONSE_BYTES = HEADER_BYTES + MAX_TOLD * ENTRY_BYTES;

    private static final int QUERY_MAGIC = 0x31305152;
    private static final int RESPONSE_MAGIC = 0x33305452;

    private final int bound;
    /** Ascending. */
    private final int[] ids;

    private final long[] addresses;
    private final long[] lengths;
    private final int[] keys;

    private RegionTable(int bound, int[] ids, long[] addresses, long[] lengths, int[] keys) {
        this.bound = bound;
        this.ids = ids;
        this.addresses = addresses;
        this.lengths = lengths;
        this.keys = keys;
    }

    /** Returns the id below which every region is known, present or absent. */
    public int bound() {
        return bound;
    }

    /** Returns whether the table covers a region: its location, or its absence. */
    public boolean knows(int regionId) {
        return regionId < bound;
    }

    /** Returns whether a region that is known was released. */
    public boolean isAbsent(int regionId) {
        return Arrays.binarySearch(ids, regionId) < 0;
    }

    /** Returns the number of existing regions. */
    public int present() {
        return ids.length;
    }

    private int index(int regionId) {
        int index = Arrays.binarySearch(ids, regionId);
        if (index < 0) {
            throw new IllegalArgumentException("region " + regionId + " is absent");
        }
        return index;
    }

    public long address(int regionId) {
        return addresses[index(regionId)];
    }

    /** Returns the length of a region; 0 if it is absent. */
    public long lengthBytes(int regionId) {
        int index = Arrays.binarySearch(ids, regionId);
        return index < 0 ? 0 : lengths[index];
    }

    public int key(int regionId) {
        return keys[index(regionId)];
    }

    /** Returns this table and the region that follows; those between the bound and its id are absent. */
    public RegionTable with(int id, long address, long lengthBytes, int key) {
        if (id < bound) {
            throw new IllegalArgumentException("region " + id + " after " + bound + " others");
        }
        RegionTable more = withRoom(1);
        more.set(ids.length, id, address, lengthBytes, key);
        return more.withBound(id + 1);
    }

    private RegionTable withRoom(int regions) {
        int size = ids.length + regions;
        return new RegionTable(
                bound,
                Arrays.copyOf(ids, size),
                Arrays.copyOf(addresses, size),
                Arrays.copyOf(lengths, size),
                Arrays.copyOf(keys, size));
    }

    private void set(int index, int id, long address, long lengthBytes, int key) {
        ids[index] = id;
        addresses[index] = address;
        lengths[index] = lengthBytes;
        keys[index] = key;
    }

    /** Returns this table, of which every region from its bound to another one is absent. */
    public RegionTable withAbsentTo(int otherBound) {
        return withBound(Math.max(bound, otherBound));
    }

    private RegionTable withBound(int other) {
        return new RegionTable(other, ids, addresses, lengths, keys);
    }

    /** Returns this table without a region, which is absent from now on. */
    public RegionTable without(int regionId) {
        int index = Arrays.binarySearch(ids, regionId);
        if (index < 0) {
            return this;
        }
        RegionTable fewer = withRoom(-1);
        int behind = fewer.ids.length - index;
        System.arraycopy(ids, index + 1, fewer.ids, index, behind);
        System.arraycopy(addresses, index + 1, fewer.addresses, index, behind);
        System.arraycopy(lengths, index + 1, fewer.lengths, index, behind);
        System.arraycopy(keys, index + 1, fewer.keys, index, behind);
        return fewer;
    }

    /** Returns this table without the region added last, to which nothing leads yet; its id may be used by another. */
    public RegionTable withoutLast() {
        int last = ids[ids.length - 1];
        return without(last).withBound(last);
    }

    /** Writes a query; {@code target} has {@value #QUERY_BYTES} bytes. */
    public static void writeQuery(long target, int firstRegion) {
        RawMemory.putInt(target, QUERY_MAGIC);
        RawMemory.putInt(target + 4, firstRegion);
        RawMemory.putLong(target + 8, 0);
    }

    /** Reads a query; returns the first region wanted, -1 if the bytes are no query. */
    public static int readQuery(long source, int lengthBytes) {
        if (lengthBytes != QUERY_BYTES || RawMemory.getInt(source) != QUERY_MAGIC) {
            return -1;
        }
        return Math.max(-1, RawMemory.getInt(source + 4));
    }

    /** Writes the response to a query; returns its length, at most {@link #MAX_RESPONSE_BYTES}. */
    public int writeResponse(long target, int firstRegion) {
        int first = Math.min(firstRegion, bound);
        int found = Arrays.binarySearch(ids, first);
        int start = found < 0 ? -found - 1 : found;
        int told = Math.min(MAX_TOLD, ids.length - start);
        RawMemory.putInt(target, RESPONSE_MAGIC);
        RawMemory.putInt(target + 4, bound);
        RawMemory.putInt(target + 8, first);
        RawMemory.putInt(target + 12, told);
        for (int i = 0; i < told; i++) {
            long entry = target + HEADER_BYTES + (long) i * ENTRY_BYTES;
            RawMemory.putLong(entry, addresses[start + i]);
            RawMemory.putLong(entry + 8, lengths[start + i]);
            RawMemory.putInt(entry + 16, keys[start + i]);
            RawMemory.putInt(entry + 20, ids[start + i]);
        }
        return HEADER_BYTES + told * ENTRY_BYTES;
    }

    /** Returns the number of used ids in a response. */
    public static int existing(long source) {
        return RawMemory.getInt(source + 4);
    }

    /**
     * Returns this table and what a response adds to it.
     *
     * @throws IllegalArgumentException if the bytes are no response, or one that does not continue this table
     */
    public RegionTable withResponse(long source, int lengthBytes) {
        boolean readable = lengthBytes >= HEADER_BYTES && RawMemory.getInt(source) == RESPONSE_MAGIC;
        int existing = readable ? existing(source) : -1;
        int first = readable ? RawMemory.getInt(source + 8) : -1;
        int told = readable ? RawMemory.getInt(source + 12) : -1;
        boolean sound = first == bound
                && existing >= first
                && existing <= Region.FIRST_ON_DISK
                && told >= 0
                && told <= Math.min(MAX_TOLD, existing - first)
                && ids.length + told <= MAX_REGIONS
                && lengthBytes == HEADER_BYTES + told * ENTRY_BYTES;
        if (!sound) {
            throw new IllegalArgumentException("the peer's response to the region query is damaged");
        }
        RegionTable more = withRoom(told);
        int next = first;
        for (int i = 0; i < told; i++) {
            long entry = source + HEADER_BYTES + (long) i * ENTRY_BYTES;
            long length = RawMemory.getLong(entry + 8);
            int id = RawMemory.getInt(entry + 20);
            if (id < next || id >= existing || length <= 0) {
                throw new IllegalArgumentException("the peer's response to the region query is damaged: region " + id
                        + " of " + length + " bytes, where one from " + next + " to " + existing + " is expected");
            }
            more.set(ids.length + i, id, RawMemory.getLong(entry), length, RawMemory.getInt(entry + 16));
            next = id + 1;
        }
        // Fewer than fit are all that there are.
        return more.withBound(told < MAX_TOLD ? existing : next);
    }
}
