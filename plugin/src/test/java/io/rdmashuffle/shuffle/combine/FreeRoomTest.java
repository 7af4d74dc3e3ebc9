// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class FreeRoomTest {
    @Test
    void isWhatSparkTakesUnlessItIsToldOtherwise() {
        assertThat(FreeRoom.of(new SparkConf(false))).isEqualTo(new FreeRoom(5 << 20, Integer.MAX_VALUE));
    }

    @Test
    void eachOfSparksBoundsHolds() {
        SparkConf conf = new SparkConf(false)
                .set("spark.shuffle.spill.initialMemoryThreshold", "8m")
                .set("spark.shuffle.spill.numElementsForceSpillThreshold", "1000");
        assertThat(FreeRoom.of(conf)).isEqualTo(new FreeRoom(8 << 20, 1000));
        conf.set("spark.shuffle.spill.maxSizeInBytesForSpillThreshold", "1m");
        assertThat(FreeRoom.of(conf)).isEqualTo(new FreeRoom(1 << 20, 1000));
    }
}
