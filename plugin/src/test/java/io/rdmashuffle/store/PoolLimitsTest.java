// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.memory.PoolUsage;
import io.rdmashuffle.memory.Purpose;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class PoolLimitsTest {
    private final PoolLimits limits = new PoolLimits(1000, 1000, 50);

    private static PoolUsage usage(long usedBytes, long receiveBytes, long setAsideBytes) {
        return new PoolUsage(1000, 1000, usedBytes, 0, 0, 1, setAsideBytes, 0, Map.of(Purpose.RECEIVE, receiveBytes));
    }

    /** A quarter that is set aside would keep the pool from ever being half full of map outputs. */
    @Test
    void roomIsThatOfMapOutputsAndReadsDoNotUseIt() {
        assertThat(limits.leavesRoom(usage(100, 0, 0), 400)).isTrue();
        assertThat(limits.leavesRoom(usage(100, 0, 0), 401)).isFalse();
        assertThat(limits.leavesRoom(usage(100, 0, 200), 301)).isFalse();
        assertThat(limits.leavesRoom(usage(300, 200, 200), 300)).isTrue();
    }

    @Test
    void aPoolHasRoomUntilItIsFull() {
        assertThat(limits.fits(usage(100, 0, 0), 900)).isTrue();
        assertThat(limits.fits(usage(100, 0, 0), 901)).isFalse();
        assertThat(limits.fits(usage(100, 0, 200), 701)).isFalse();
        assertThat(limits.fits(usage(300, 200, 200), 700)).isTrue();
        PoolUsage staging = new PoolUsage(1000, 1000, 300, 0, 0, 1, 200, 0, Map.of(Purpose.STAGING, 200L));
        assertThat(limits.fits(staging, 700)).isTrue();
        assertThat(limits.fits(staging, 701)).isFalse();
    }

    @Test
    void anIndexMayTakeAQuarterOfARegion() {
        long indexBytes = MapOutputIndex.lengthBytes(100, 1);
        assertThat(new PoolLimits(1 << 30, 4 * indexBytes, 50).reasonAgainst(100))
                .isEmpty();
        assertThat(new PoolLimits(4 * indexBytes, 1 << 30, 50).reasonAgainst(100))
                .isEmpty();
        assertThat(new PoolLimits(1 << 30, 4 * indexBytes - 1, 50).reasonAgainst(100))
                .hasValueSatisfying(reason -> assertThat(reason)
                        .contains("100 partitions", indexBytes + " bytes", "spark.shuffle.rdma.pool.regionSize"));
    }
}
