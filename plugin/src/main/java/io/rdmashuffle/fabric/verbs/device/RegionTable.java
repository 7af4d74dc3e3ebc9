// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.RawMemory;
import java.util.Arrays;

/**
 * Where a process's regions lie and by which rkeys they are read. Region ids count from 0 without gaps; a region that
 * was given back is absent for good, since its id is not used again.
 *
 * <pre>
 *  query, 16 bytes                      response, 16 + n * 24 bytes, little-endian
 *   0  4  magic "RQ01"                   0  4  magic "RT02"
 *   4  4  first region wanted            4  4  number of regions that there have been
 *   8  8  zero                           8  4  first region told
 *                                       12  4  number of regions told n, at most 32
 *                                       16     n times: 8 address, 8 length, 4 rkey,
 *                                                       4 state: 0 = there, 1 = absent, the rest zero
 * </pre>
 *
 * A response tells all regions from the first one told on, or 32 of them; there are at most {@link #MAX_REGIONS}.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class RegionTable {
    /** No region is known. */
    public static final RegionTable EMPTY = new RegionTable(new long[0], new long[0], new int[0]);

    /**
     * More than the 65,530 mappings that Linux allows a process (vm.max_map_count), each of which is a region, and the
     * 4,096 ids after which a pool gives no region back.
     */
    public static final int MAX_REGIONS = (1 << 16) + (1 << 12);

    public static final int QUERY_BYTES = 16;
    private static final int MAX_TOLD = 32;
    private static final int HEADER_BYTES = 16;
    private static final int ENTRY_BYTES = 24;
    public static final int MAX_RESPONSE_BYTES = HEADER_BYTES + MAX_TOLD * ENTRY_BYTES;

    private static final int QUERY_MAGIC = 0x31305152;
    private static final int RESPONSE_MAGIC = 0x32305452;

    private static final int THERE = 0;
    private static final int ABSENT = 1;

    private final long[] addresses;
    private final long[] lengths;
    private final int[] keys;

    private RegionTable(long[] addresses, long[] lengths, int[] keys) {
        this.addresses = addresses;
        this.lengths = lengths;
        this.keys = keys;
    }

    public int size() {
        return addresses.length;
    }

    /** Returns whether this says of a region where it is, or that it is absent. */
    public boolean knows(int regionId) {
        return regionId < addresses.length;
    }

    /** Returns whether a region that is known was given back. */
    public boolean isAbsent(int regionId) {
        return lengths[regionId] == 0;
    }

    /** Returns how many of the regions are not absent. */
    public int present() {
        return (int) Arrays.stream(lengths).filter(length -> length > 0).count();
    }

    public long address(int regionId) {
        return addresses[regionId];
    }

    public long lengthBytes(int regionId) {
        return lengths[regionId];
    }

    public int key(int regionId) {
        return keys[regionId];
    }

    /** Returns this table and one region more. */
    public RegionTable with(long address, long lengthBytes, int key) {
        int size = addresses.length;
        long[] moreAddresses = Arrays.copyOf(addresses, size + 1);
        long[] moreLengths = Arrays.copyOf(lengths, size + 1);
        int[] moreKeys = Arrays.copyOf(keys, size + 1);
        moreAddresses[size] = address;
        moreLengths[size] = lengthBytes;
        moreKeys[size] = key;
        return new RegionTable(moreAddresses, moreLengths, moreKeys);
    }

    /** Returns this table without a region, which is absent from now on. */
    public RegionTable without(int regionId) {
        long[] fewerAddresses = addresses.clone();
        long[] fewerLengths = lengths.clone();
        int[] fewerKeys = keys.clone();
        fewerAddresses[regionId] = 0;
        fewerLengths[regionId] = 0;
        fewerKeys[regionId] = 0;
        return new RegionTable(fewerAddresses, fewerLengths, fewerKeys);
    }

    /** Returns this table without the region added last, which no peer has been told of. */
    public RegionTable withoutLast() {
        int size = addresses.length - 1;
        return new RegionTable(Arrays.copyOf(addresses, size), Arrays.copyOf(lengths, size), Arrays.copyOf(keys, size));
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
        int first = Math.min(firstRegion, size());
        int told = Math.min(MAX_TOLD, size() - first);
        RawMemory.putInt(target, RESPONSE_MAGIC);
        RawMemory.putInt(target + 4, size());
        RawMemory.putInt(target + 8, first);
        RawMemory.putInt(target + 12, told);
        for (int i = 0; i < told; i++) {
            long entry = target + HEADER_BYTES + (long) i * ENTRY_BYTES;
            RawMemory.putLong(entry, addresses[first + i]);
            RawMemory.putLong(entry + 8, lengths[first + i]);
            RawMemory.putInt(entry + 16, keys[first + i]);
            RawMemory.putInt(entry + 20, isAbsent(first + i) ? ABSENT : THERE);
        }
        return HEADER_BYTES + told * ENTRY_BYTES;
    }

    /** Returns how many regions there have been, as a response says. */
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
        // As many as there are and fit: a response that holds some back would be queried for them again and again.
        boolean sound = first == size()
                && existing >= first
                && existing <= MAX_REGIONS
                && told == Math.min(MAX_TOLD, existing - first)
                && lengthBytes == HEADER_BYTES + told * ENTRY_BYTES;
        if (!sound) {
            throw new IllegalArgumentException("the peer's response to the region query is damaged");
        }
        RegionTable table = this;
        for (int i = 0; i < told; i++) {
            long entry = source + HEADER_BYTES + (long) i * ENTRY_BYTES;
            long length = RawMemory.getLong(entry + 8);
            int state = RawMemory.getInt(entry + 20);
            boolean possible = state == THERE ? length > 0 : state == ABSENT && length == 0;
            if (!possible) {
                throw new IllegalArgumentException("the peer's response to the region query is damaged: region "
                        + (first + i) + " of " + length + " bytes in state " + state);
            }
            table = table.with(RawMemory.getLong(entry), length, RawMemory.getInt(entry + 16));
        }
        return table;
    }
}
