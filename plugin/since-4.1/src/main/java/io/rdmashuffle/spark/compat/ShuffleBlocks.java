// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.io.File;
import java.util.Collection;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import scala.Option;
import scala.Tuple2;

/**
 * An executor's shuffle blocks as Spark's block manager asks for them: the methods of Spark's {@code
 * IndexShuffleBlockResolver} that have an answer of their own here.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public interface ShuffleBlocks {
    /**
     * Returns a block.
     *
     * @param directories where another executor's files lie; empty for this executor's own block
     */
    ManagedBuffer getBlockData(BlockId blockId, Option<String[]> directories);

    /** Returns the map outputs that are here, for a decommissioning that moves them. */
    Collection<ShuffleBlockInfo> getStoredShuffles();

    /** Excludes a shuffle from migration. Called from Spark 4.0 on. */
    void addShuffleToSkip(int shuffleId);

    /** Returns the blocks of a map output as they are moved, the index first. */
    List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo output);

    /** Accepts a block that another executor moves here. */
    StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializerManager);

    /** Returns the index file of a map output, whether it exists or not. */
    File getIndexFile(int shuffleId, long mapId, Option<String[]> directories);
}
