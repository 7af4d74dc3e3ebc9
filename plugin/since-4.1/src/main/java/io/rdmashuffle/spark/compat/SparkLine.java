// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import java.util.concurrent.ConcurrentMap;
import java.util.function.Function;
import org.apache.spark.Aggregator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.collection.ExternalSorter;
import org.apache.spark.util.collection.OpenHashSet;
import scala.Option;

/**
 * The Spark that this jar runs on, as far as its calls differ from those of other lines.
 *
 * <p><b>Threading:</b> stateless.
 */
public interface SparkLine {
    /** Returns the map ids by shuffle whose files Spark removes with the shuffle; shared with Spark. */
    ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle(IndexShuffleBlockResolver resolver);

    /**
     * Returns a resolver that Spark's block manager takes for its own and that answers with {@code blocks}.
     *
     * @param mapIdsByShuffle of Spark's manager
     * @param blocks makes the answers, given those of Spark
     */
    IndexShuffleBlockResolver resolver(
            SparkConf conf,
            ConcurrentMap<Object, OpenHashSet<Object>> mapIdsByShuffle,
            Function<SparkBlocks, ShuffleBlocks> blocks);

    /** Returns checksums of the rows of one map output; without effect where the shuffle or Spark has none. */
    RowChecksums rowChecksums(ShuffleDependency<?, ?, ?> dependency);

    /**
     * Returns a map task's status for the driver.
     *
     * @param rows checksums of the written rows
     */
    MapStatus mapStatus(BlockManagerId location, long[] lengths, long mapId, RowChecksums rows);

    /** Returns a sorter for the records of one reduce task. */
    <K, V, C> ExternalSorter<K, V, C> sorter(
            TaskContext context, Option<Aggregator<K, V, C>> aggregator, ShuffleDependency<K, ?, C> dependency);
}
