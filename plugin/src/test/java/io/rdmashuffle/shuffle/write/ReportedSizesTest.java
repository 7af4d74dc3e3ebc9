// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.io.LZ4CompressionCodec;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ReportedSizesTest {
    private final ShuffleCounters counters = new ShuffleCounters();
    private final ReportedSizes sizes = new ReportedSizes(counters);

    @Test
    void areThoseOfTheBlocksUntilSomethingIsKnown() {
        assertThat(sizes.of(1, new long[] {0, 7, 100})).containsExactly(0, 7, 100);
    }

    @Test
    void followWhatWasMeasuredOfThisShuffle() {
        sizes.add(1, 0, 1_000, 200);
        sizes.add(1, 0, 1_000, 300);
        sizes.add(2, 0, 1_000, 900);
        assertThat(sizes.of(1, new long[] {0, 400, 4_000})).containsExactly(0, 100, 1_000);
        assertThat(sizes.of(2, new long[] {100})).containsExactly(90);
    }

    /** Readers do not fetch blocks that are reported as empty. */
    @Test
    void noBlockThatHasARecordIsReportedAsEmpty() {
        sizes.add(1, 0, 1_000_000, 1);
        assertThat(sizes.of(1, new long[] {0, 1, 1_000})).containsExactly(0, 1, 1);
    }

    /** Readers multiply by four, and fetch blocks above the limit of Spark's transfer to a file. */
    @Test
    void oversizedBlockIsReportedAsLarge() {
        sizes.add(1, 0, 1_000_000, 1);
        long large = 3L << 30;
        assertThat(sizes.of(1, new long[] {large, 1_000_000})).containsExactly(large / 4, 1);
    }

    /** As in 2,000 x 2,000 blocks of one row each, of which a codec's headers are the larger part. */
    @Test
    void everyBlockHasTheHeadersOfItsCodec() {
        sizes.add(1, 42, 1_000, 500);
        assertThat(sizes.of(1, new long[] {0, 1, 20, 1_000_000})).containsExactly(0, 43, 52, 500_042);
    }

    private static BlockSample sample() throws Exception {
        SparkConf conf = new SparkConf(false);
        return new BlockSample(new LZ4CompressionCodec(conf), Frames.of(conf), FrameCodec.APPLICATION);
    }

    /** A block of n bytes that do not compress has n + 42 with LZ4: header of a block, end mark of the stream. */
    @Test
    void headersAreThoseOfTheCodec() throws Exception {
        assertThat(sample().headerBytes()).isEqualTo(42);
    }

    @Test
    void theCostOfCompressionIsCounted() throws Exception {
        BlockSample sample = sample();
        sample.add(new byte[10_000], 10_000);
        sizes.add(1, sample, 20_000);
        Map<ShuffleCounter, Long> counted = counters.snapshot();
        assertThat(counted).containsEntry(ShuffleCounter.SAMPLED_BYTES, 20_000L);
        assertThat(counted.get(ShuffleCounter.SAMPLED_COMPRESSED_BYTES)).isBetween(1L, 1_000L);
        assertThat(counted.get(ShuffleCounter.SAMPLED_NANOS)).isPositive();
        assertThat(sizes.of(1, new long[] {10_000})[0]).isBetween(1L, 1_000L);
    }

    @Test
    void blocksThatDoNotCompressGrowByHeadersOnly() {
        sizes.add(1, 42, 10, 60);
        assertThat(sizes.of(1, new long[] {10})).containsExactly(52);
    }

    @Test
    void theFirstOutputsOfAShuffleAreMeasuredAndFewOthers() {
        int measured = 0;
        for (int i = 0; i < 640; i++) {
            measured += sizes.wantsSample(1) ? 1 : 0;
        }
        assertThat(measured).isEqualTo(4 + 9);
        assertThat(sizes.wantsSample(2)).isTrue();
    }

    @Test
    void onlySoManyShufflesAreKept() {
        sizes.add(0, 0, 1_000, 500);
        for (int i = 1; i <= 512; i++) {
            sizes.add(i, 0, 1_000, 100);
        }
        assertThat(sizes.of(0, new long[] {100})).containsExactly(100);
        assertThat(sizes.of(1, new long[] {100})).containsExactly(10);
    }
}
