// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.serve;

import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.ShuffleDataBlockId;

/**
 * Blocks of a reserved shuffle id, under which executors exchange messages: Spark's block transfer is the only path
 * between executors that Spark authenticates and encrypts.
 *
 * <p><b>Threading:</b> called by the threads of Spark's block transfer, several at once; must not block.
 */
public interface ReservedShuffle {
    /** Spark counts shuffles from 0. */
    int SHUFFLE_ID = Integer.MAX_VALUE;

    /** Returns whether a block belongs here. */
    static boolean isOf(BlockId blockId) {
        return (blockId instanceof ShuffleBlockId block && block.shuffleId() == SHUFFLE_ID)
                || (blockId instanceof ShuffleDataBlockId data && data.shuffleId() == SHUFFLE_ID);
    }

    /** Answers a peer that fetches a block. */
    ManagedBuffer get(BlockId blockId);

    /** Accepts a block that a peer uploads; the peer hears an exception of the callback as a failure. */
    StreamCallbackWithID receive(BlockId blockId);
}
