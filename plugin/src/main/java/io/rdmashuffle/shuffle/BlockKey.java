// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import java.util.Optional;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;

/**
 * The partitions {@code [start, end)} of one map output.
 *
 * @param shuffleId shuffle
 * @param mapId task attempt that wrote the output
 * @param start first reduce partition
 * @param end reduce partition after the last one
 */
public record BlockKey(int shuffleId, long mapId, int start, int end) {
    /** Reads Spark's block id; empty for ids that are not of original shuffle blocks. */
    public static Optional<BlockKey> of(BlockId blockId) {
        if (blockId instanceof ShuffleBlockId one) {
            return Optional.of(new BlockKey(one.shuffleId(), one.mapId(), one.reduceId(), one.reduceId() + 1));
        }
        if (blockId instanceof ShuffleBlockBatchId batch) {
            return Optional.of(
                    new BlockKey(batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId()));
        }
        return Optional.empty();
    }

    /** Reads the name of a block as fetch requests carry it. */
    public static Optional<BlockKey> of(String blockName) {
        return of(BlockId.apply(blockName));
    }
}
