// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat.since41;

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
import org.apache.spark.shuffle.checksum.RowBasedChecksum;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.collection.ExternalSorter;
import org.apache.spark.util.collection.OpenHashSet;
import scala.Option;

/** Spark 4.1 and newer. */
public final class SparkSince41 implements SparkLine {
    @Override
    public ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle(IndexShuffleBlockResolver resolver) {
        return resolver.taskIdMapsForShuffle();
    }

    @Override
    public IndexShuffleBlockResolver resolver(
            SparkConf conf,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Function<SparkBlocks, ShuffleBlocks> blocks) {
        return new ResolverSince41(conf, mapIdsByShuffle, blocks);
    }

    @Override
    public RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency) {
        RowBasedChecksum[] checksums = dependency.rowBasedChecksums();
        return checksums.length == 0 ? RowChecksums.NONE : new ByPartition(checksums);
    }

    @Override
    public MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums rows) {
        RowBasedChecksum[] checksums =
                rows instanceof ByPartition byPartition ? byPartition.checksums : new RowBasedChecksum[0];
        return MapStatus$.MODULE$.apply(
                location, lengths, mapId, RowBasedChecksum.getAggregatedChecksumValue(checksums));
    }

    @Override
    public <K, V, C> ExternalSorter<K, V, C> sorter(
            TaskContext context, Option<Aggregator<K, V, C>> aggregator, ShuffleDependency<K, ?, C> dependency) {
        return new ExternalSorter<>(
                context,
                aggregator,
                Option.empty(),
                dependency.keyOrdering(),
                dependency.serializer(),
                new RowBasedChecksum[0]);
    }

    @SuppressWarnings("ArrayRecordComponent")
    private record ByPartition(RowBasedChecksum[] checksums) implements RowChecksums {
        @Override
        public void update(int partition, Object key, Object value) {
            checksums[partition].update(key, value);
        }
    }
}
