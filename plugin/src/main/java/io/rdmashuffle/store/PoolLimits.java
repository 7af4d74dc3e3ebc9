// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.memory.PoolUsage;
import io.rdmashuffle.memory.Purpose;
import java.util.Optional;

/**
 * Limits of the pool for shuffles, and the threshold of shortage. Driver and executors decide alike, each from the
 * configuration.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param capBytes hard cap of the pool
 * @param regionBytes length of a region, within which an index must lie
 * @param compressAbovePercent how full the pool may become with bytes that could be compressed
 */
public record PoolLimits(long capBytes, long regionBytes, int compressAbovePercent) {
    /** An index that takes more than this part of a region leaves too little for data. */
    private static final long INDEX_SHARE = 4;

    /** Returns the reason why map outputs with that number of partitions do not use the pool; empty if they do. */
    public Optional<String> reasonAgainst(int partitions) {
        long indexBytes = MapOutputIndex.lengthBytes(partitions, 1);
        long allowed = Math.min(capBytes, regionBytes) / INDEX_SHARE;
        if (indexBytes <= allowed) {
            return Optional.empty();
        }
        return Optional.of(
                "the index of " + partitions + " partitions takes " + indexBytes + " bytes for each map output,"
                        + " more than " + allowed
                        + "; raise spark.shuffle.rdma.pool.maxSize and spark.shuffle.rdma.pool.regionSize,"
                        + " or use fewer partitions");
    }

    /** Returns whether what map outputs may take of a pool has room for more that is not compressed. */
    public boolean leavesRoom(PoolUsage usage, long moreBytes) {
        // Not multiplied first: caps go up to a petabyte.
        return moreBytes <= room(usage) / 100 * compressAbovePercent - used(usage);
    }

    /** Returns whether what map outputs may take of a pool has room for more at all. */
    public boolean fits(PoolUsage usage, long moreBytes) {
        return moreBytes <= room(usage) - used(usage);
    }

    private static long room(PoolUsage usage) {
        return usage.capBytes() - usage.setAsideBytes();
    }

    private static long used(PoolUsage usage) {
        return usage.usedBytes()
                - usage.usedByPurpose().getOrDefault(Purpose.RECEIVE, 0L)
                - usage.usedByPurpose().getOrDefault(Purpose.STAGING, 0L);
    }
}
