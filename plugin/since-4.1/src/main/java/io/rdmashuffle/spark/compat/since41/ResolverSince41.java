// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat.since41;

import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.compat.ShuffleBlocks;
import io.rdmashuffle.spark.compat.SparkBlocks;
import java.io.File;
import java.util.Collection;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleBlockInfo;
import org.apache.spark.storage.BlockId;
import org.apache.spark.util.collection.OpenHashSet;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List;
import scala.collection.immutable.Seq;

/**
 * The resolver of Spark 4.1 and newer, whose constructor takes a {@link ConcurrentMap}.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class ResolverSince41 extends IndexShuffleBlockResolver {
    private final ShuffleBlocks blocks;

    ResolverSince41(
            SparkConf conf,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Function<SparkBlocks, ShuffleBlocks> blocks) {
        super(conf, null, mapIdsByShuffle);
        this.blocks = blocks.apply(new Files());
    }

    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> directories) {
        return blocks.getBlockData(blockId, directories);
    }

    @Override
    public Seq<ShuffleBlockInfo> getStoredShuffles() {
        return ScalaCollections.list(blocks.getStoredShuffles());
    }

    @Override
    public void addShuffleToSkip(int shuffleId) {
        blocks.addShuffleToSkip(shuffleId);
    }

    @Override
    public List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo output) {
        return ScalaCollections.list(blocks.getMigrationBlocks(output));
    }

    @Override
    public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializerManager) {
        return blocks.putShuffleBlockAsStream(blockId, serializerManager);
    }

    @Override
    public File getIndexFile(int shuffleId, long mapId, Option<String[]> directories) {
        return blocks.getIndexFile(shuffleId, mapId, directories);
    }

    /** Spark's resolver of files. */
    private final class Files implements SparkBlocks {
        @Override
        public IndexShuffleBlockResolver resolver() {
            return ResolverSince41.this;
        }

        @Override
        public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> directories) {
            return ResolverSince41.super.getBlockData(blockId, directories);
        }

        @Override
        public Collection<ShuffleBlockInfo> getStoredShuffles() {
            return ScalaCollections.list(
                    ResolverSince41.super.getStoredShuffles().iterator());
        }

        @Override
        public void addShuffleToSkip(int shuffleId) {
            ResolverSince41.super.addShuffleToSkip(shuffleId);
        }

        @Override
        public java.util.List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo output) {
            return ScalaCollections.list(
                    ResolverSince41.super.getMigrationBlocks(output).iterator());
        }

        @Override
        public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializerManager) {
            return ResolverSince41.super.putShuffleBlockAsStream(blockId, serializerManager);
        }

        @Override
        public File getIndexFile(int shuffleId, long mapId, Option<String[]> directories) {
            return ResolverSince41.super.getIndexFile(shuffleId, mapId, directories);
        }
    }
}
