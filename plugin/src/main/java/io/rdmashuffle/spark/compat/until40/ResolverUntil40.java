// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat.until40;

import io.rdmashuffle.spark.compat.ScalaCollections;
import io.rdmashuffle.spark.compat.ShuffleBlocks;
import io.rdmashuffle.spark.compat.SparkBlocks;
import java.io.File;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Collection;
import java.util.Optional;
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
 * The resolver of Spark before 4.1, whose constructor takes a {@code Map}.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class ResolverUntil40 extends IndexShuffleBlockResolver {
    /** Spark's own method; the class that it returns differs between Scala 2.12 and 2.13. */
    private static final Optional<MethodHandle> STORED_SHUFFLES_OF_SPARK = ofSpark("getStoredShuffles")
            .map(found -> found.asType(MethodType.methodType(scala.collection.Seq.class, ResolverUntil40.class)));

    /** Empty on Spark 3.5, which does not skip any. */
    private static final Optional<MethodHandle> SKIP_BY_SPARK = ofSpark("addShuffleToSkip", int.class);

    private final ShuffleBlocks blocks;

    ResolverUntil40(
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

    /**
     * {@inheritDoc} An {@code immutable.Seq}, as Spark declares it with Scala 2.13, and so by a bridge the {@code
     * collection.Seq} of 2.12 too: an override of only one of them would not be called on the other, without an error.
     */
    @Override
    public Seq<ShuffleBlockInfo> getStoredShuffles() {
        return ScalaCollections.list(blocks.getStoredShuffles());
    }

    /** Overrides what Spark has from 4.0 on. */
    @SuppressWarnings("MissingOverride")
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

    /** Returns a handle that calls a method of Spark's class, bypassing the override here. */
    private static Optional<MethodHandle> ofSpark(String name, Class<?>... parameters) {
        try {
            return Optional.of(MethodHandles.lookup()
                    .unreflectSpecial(
                            IndexShuffleBlockResolver.class.getMethod(name, parameters), ResolverUntil40.class));
        } catch (NoSuchMethodException e) {
            return Optional.empty();
        } catch (IllegalAccessException e) {
            throw new LinkageError("cannot call IndexShuffleBlockResolver." + name, e);
        }
    }

    /** Nothing if this Spark never asks for it. */
    @SuppressWarnings("unchecked")
    private scala.collection.Seq<ShuffleBlockInfo> storedBySpark() {
        return STORED_SHUFFLES_OF_SPARK.isPresent()
                ? (scala.collection.Seq<ShuffleBlockInfo>) invoke(STORED_SHUFFLES_OF_SPARK.get(), this)
                : ScalaCollections.list(java.util.List.of());
    }

    private static Object invoke(MethodHandle method, Object... arguments) {
        try {
            return method.invokeWithArguments(arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Spark's resolver of files. */
    private final class Files implements SparkBlocks {
        @Override
        public IndexShuffleBlockResolver resolver() {
            return ResolverUntil40.this;
        }

        @Override
        public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> directories) {
            return ResolverUntil40.super.getBlockData(blockId, directories);
        }

        @Override
        public Collection<ShuffleBlockInfo> getStoredShuffles() {
            return ScalaCollections.list(storedBySpark().iterator());
        }

        @Override
        public void addShuffleToSkip(int shuffleId) {
            SKIP_BY_SPARK.ifPresent(method -> invoke(method, ResolverUntil40.this, shuffleId));
        }

        @Override
        public java.util.List<Tuple2<BlockId, ManagedBuffer>> getMigrationBlocks(ShuffleBlockInfo output) {
            return ScalaCollections.list(
                    ResolverUntil40.super.getMigrationBlocks(output).iterator());
        }

        @Override
        public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializerManager) {
            return ResolverUntil40.super.putShuffleBlockAsStream(blockId, serializerManager);
        }

        @Override
        public File getIndexFile(int shuffleId, long mapId, Option<String[]> directories) {
            return ResolverUntil40.super.getIndexFile(shuffleId, mapId, directories);
        }
    }
}
