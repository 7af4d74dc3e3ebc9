// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import org.apache.spark.executor.TempShuffleReadMetrics;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Blocks and bytes by the way they came. */
@Tag("unit")
class ReadTallyTest {
    private final TempShuffleReadMetrics metrics = new TempShuffleReadMetrics();
    private final ShuffleCounters counters = new ShuffleCounters();

    private static ShuffleBlockId block(long mapId, int partition) {
        return new ShuffleBlockId(0, mapId, partition);
    }

    private ReadTally counted(boolean inBatches) {
        ReadTally tally = new ReadTally(metrics, counters, inBatches, true);
        for (long mapId = 0; mapId < 300; mapId++) {
            for (int partition = 3; partition < 7; partition++) {
                // Spark asks for no empty block, and merges over it.
                if (partition != 5) {
                    tally.count(ShuffleCounter.SHM_BYTES, block(mapId, partition), 10);
                }
            }
        }
        tally.count(ShuffleCounter.LOCAL_BYTES, block(299, 7), 5);
        tally.countFromDisk(3);
        tally.report();
        return tally;
    }

    private void assertBytes() {
        assertThat(metrics.remoteBytesRead()).isEqualTo(9_000);
        assertThat(metrics.localBytesRead()).isEqualTo(5);
        assertThat(metrics.localBlocksFetched()).isEqualTo(1);
        assertThat(counters.snapshot())
                .containsEntry(ShuffleCounter.SHM_BYTES, 9_000L)
                .containsEntry(ShuffleCounter.LOCAL_BYTES, 5L)
                .containsEntry(ShuffleCounter.DIRECT_BYTES, 9_005L)
                .containsEntry(ShuffleCounter.DISK_READ_BYTES, 3L);
    }

    @Test
    void everyBlockCounts() {
        counted(false);
        assertThat(metrics.remoteBlocksFetched()).isEqualTo(900);
        assertBytes();
    }

    @Test
    void partitionsOfAMapOutputAreOneBatch() {
        counted(true);
        assertThat(metrics.remoteBlocksFetched()).isEqualTo(300);
        assertBytes();
    }

    @Test
    void valuesAreReportedOnce() {
        ReadTally tally = counted(true);
        tally.report();
        assertBytes();
        tally.count(ShuffleCounter.LOCAL_BYTES, block(299, 8), 5);
        tally.report();
        assertThat(metrics.localBytesRead()).isEqualTo(10);
        assertThat(metrics.localBlocksFetched()).isEqualTo(1);
    }
}
