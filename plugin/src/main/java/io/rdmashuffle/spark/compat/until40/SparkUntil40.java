// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat.until40;

import io.rdmashuffle.spark.compat.RowChecksums;
import io.rdmashuffle.spark.compat.ShuffleBlocks;
import io.rdmashuffle.spark.compat.SparkBlocks;
import io.rdmashuffle.spark.compat.SparkLine;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.apache.spark.Aggregator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.collection.ExternalSorter;
import org.apache.spark.util.collection.OpenHashSet;
import scala.Option;

/** Spark before 4.1, which has no checksums of rows. */
public final class SparkUntil40 implements SparkLine {
    /** {@inheritDoc} Declared as a {@code Map}; the sort manager has made it a concurrent one since Spark 3.0. */
    @Override
    public ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle(IndexShuffleBlockResolver resolver) {
        return (ConcurrentMap<Object, OpenHashSet<Object>>) resolver.taskIdMapsForShuffle();
    }

    @Override
    public IndexShuffleBlockResolver resolver(
            SparkConf conf,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Function<SparkBlocks, ShuffleBlocks> blocks) {
        return new ResolverUntil40(conf, mapIdsByShuffle, blocks);
    }

    @Override
    public RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        return RowChecksums.NONE;
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums rows) {
        return MapStatus$.MODULE$.apply(location, lengths, mapId);
    }

    @Override
    public <K, V, C> ExternalSorter<K, V, C> sorter(
            TaskContext context, Option<Aggregator<K, V, C>> aggregator, ShuffleDependency<K, ?, C> dependency) {
        return new ExternalSorter<>(
                context, aggregator, Option.empty(), dependency.keyOrdering(), dependency.serializer());
    }
}
