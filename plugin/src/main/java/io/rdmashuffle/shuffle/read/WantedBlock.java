// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Tuple3;

/**
 * A block that a reduce task is to read.
 *
 * @param owner the executor that has it, as the driver believes
 * @param block its id, size and map index, as the map output tracker gives them
 */
record WantedBlock(BlockManagerId owner, Tuple3<BlockId, Object, Object> block) {
    ShuffleBlockId id() {
        return (ShuffleBlockId) block._1();
    }

    int mapIndex() {
        return (Integer) block._3();
    }
}
