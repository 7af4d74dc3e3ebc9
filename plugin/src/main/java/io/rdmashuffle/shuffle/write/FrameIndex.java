// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

/**
 * Offsets of partitions in a {@link FramedRun}: 20 bytes a partition on the heap, for 16 KiB of records or more.
 *
 * <p><b>Threading:</b> none; one thread at a time.
 */
final class FrameIndex {
    private final long[] ends;
    private final long[] recordBytes;
    private final int[] checksums;
    private int next;

    /** Starts with partitions that are all empty. */
    FrameIndex(int partitions) {
        this.ends = new long[partitions];
        this.recordBytes = new long[partitions];
        this.checksums = new int[partitions];
    }

    /**
     * Appends a partition with a higher number than the previous ones.
     *
     * @param end of its frames, from the beginning of the run
     * @param bytes of its records
     * @param crc32c of its frames
     */
    void add(int partition, long end, long bytes, int crc32c) {
        skipTo(partition);
        ends[partition] = end;
        recordBytes[partition] = bytes;
        checksums[partition] = crc32c;
        next = partition + 1;
    }

    /** Marks the partitions between the last added one and this one as empty. */
    void skipTo(int partition) {
        for (; next < partition; next++) {
            ends[next] = start(next);
        }
    }

    int partitions() {
        return ends.length;
    }

    /** Returns the offset of a partition's frames in the run. */
    long start(int partition) {
        return partition == 0 ? 0 : ends[partition - 1];
    }

    /** Returns the offset of their end. */
    long end(int partition) {
        return ends[partition];
    }

    /** Returns the bytes of a partition's records; 0 if it has none. */
    long recordBytes(int partition) {
        return recordBytes[partition];
    }

    /** Returns the CRC-32C of a partition's frames. */
    int checksum(int partition) {
        return checksums[partition];
    }
}
