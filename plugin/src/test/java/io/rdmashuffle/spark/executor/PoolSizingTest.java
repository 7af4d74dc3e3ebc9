// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How small the regions of a pool may become whose directory is short. */
@Tag("unit")
class PoolSizingTest {
    private static final long PAGE_BYTES = 4096;

    private static long least(long pageBytes, String key, String value) {
        return PoolSizing.leastRegionBytes(ShuffleConfig.read(Map.of("spark.shuffle.rdma." + key, value)), pageBytes);
    }

    @Test
    void aRegionHoldsPageAndChunkAndTable() {
        assertThat(least(PAGE_BYTES, "directory.maxShuffles", "16")).isEqualTo(1 << 20);
        assertThat(least(PAGE_BYTES, "directory.maxShuffles", "65536")).isGreaterThan(4 * 64 * 65536L);
        assertThat(least(PAGE_BYTES, "pool.chunkSize", "8m")).isEqualTo(8 << 20);
        assertThat(least(2 << 20, "pool.chunkSize", "64k")).as("huge pages").isEqualTo(2 << 20);
    }

    @Test
    void aPoolHasFewerRegionsThanAProcessMayMap() {
        assertThat(least(PAGE_BYTES, "pool.maxSize", "1t")).isEqualTo((1L << 40) / 65536);
    }
}
