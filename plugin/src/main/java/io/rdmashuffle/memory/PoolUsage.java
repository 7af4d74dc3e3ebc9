// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.EnumMap;
import java.util.Map;

/**
 * Snapshot of a pool's usage.
 *
 * @param capBytes the most that capacity may come to be: the hard cap, or what there is where the pool could not grow
 *     when it tried last
 * @param capacityBytes bytes of all regions that exist
 * @param usedBytes bytes leased
 * @param peakBytes largest {@code usedBytes} ever
 * @param leases leases outstanding
 * @param regions regions that exist
 * @param setAsideBytes bytes that map outputs cannot lease in a pool of {@code capBytes}
 * @param refusals requests of map outputs, since the start, that found no room in a pool that could not grow, or
 *     never would
 * @param usedByPurpose bytes leased for each purpose; purposes without a lease are missing
 */
public record PoolUsage(
        long capBytes,
        long capacityBytes,
        long usedBytes,
        long peakBytes,
        int leases,
        int regions,
        long setAsideBytes,
        long refusals,
        Map<Purpose, Long> usedByPurpose) {
    public PoolUsage {
        usedByPurpose = Map.copyOf(usedByPurpose);
    }

    /** Accounting of leases. <b>Threading:</b> none; the pool's lock guards it. */
    static final class Accountant {
        private final Map<Purpose, Long> usedByPurpose = new EnumMap<>(Purpose.class);
        private long usedBytes;
        private long peakBytes;
        private int leases;
        private long refusals;

        void bytesTaken(Purpose purpose, long bytes) {
            usedBytes += bytes;
            peakBytes = Math.max(peakBytes, usedBytes);
            usedByPurpose.merge(purpose, bytes, Long::sum);
        }

        void bytesReturned(Purpose purpose, long bytes) {
            usedBytes -= bytes;
            usedByPurpose.merge(purpose, -bytes, (a, b) -> a + b == 0 ? null : a + b);
        }

        void leaseOpened() {
            leases++;
        }

        void leaseClosed() {
            leases--;
        }

        void refused() {
            refusals++;
        }

        PoolUsage snapshot(long capBytes, long capacityBytes, int regions, long setAsideBytes) {
            return new PoolUsage(
                    capBytes,
                    capacityBytes,
                    usedBytes,
                    peakBytes,
                    leases,
                    regions,
                    setAsideBytes,
                    refusals,
                    usedByPurpose);
        }
    }
}
