// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.disk;

/**
 * Snapshot of the disk tier's usage.
 *
 * @param fileBytes length of the files
 * @param usedBytes bytes leased
 * @param peakBytes largest {@code usedBytes} ever, added up over the files
 * @param leases leases outstanding
 */
public record DiskUsage(long fileBytes, long usedBytes, long peakBytes, int leases) {
    /** Of a pool without a disk tier. */
    public static final DiskUsage NONE = new DiskUsage(0, 0, 0, 0);

    DiskUsage plus(DiskUsage other) {
        return new DiskUsage(
                fileBytes + other.fileBytes,
                usedBytes + other.usedBytes,
                peakBytes + other.peakBytes,
                leases + other.leases);
    }
}
