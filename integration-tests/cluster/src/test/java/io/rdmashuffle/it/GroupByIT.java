// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.SparkCluster;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The smallest job on a local cluster: shows that the Spark home, the plugin's jar and the fixture work together. */
@Tag("system")
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class GroupByIT {
    @Test
    void groupsRowsOnTwoExecutorsWithThePluginOn() {
        try (SparkCluster cluster = SparkCluster.start(2, ShuffleMode.AUTO, Map.of())) {
            assertThat(SparkEnv.get().shuffleManager().getClass().getName())
                    .isEqualTo("io.rdmashuffle.spark.RdmaShuffleManager");
            assertThat(cluster.executorProcesses()).hasSize(2);

            List<Row> groups = cluster.spark()
                    .range(10_000)
                    .withColumn("group", functions.col("id").mod(10))
                    .repartition(6, functions.col("group"))
                    .groupBy("group")
                    .agg(functions.count("id"), functions.sum("id"))
                    .orderBy("group")
                    .collectAsList();

            assertThat(groups).hasSize(10);
            for (int group = 0; group < 10; group++) {
                assertThat(groups.get(group).getLong(0)).isEqualTo(group);
                assertThat(groups.get(group).getLong(1)).isEqualTo(1_000);
                assertThat(groups.get(group).getLong(2)).isEqualTo(1_000L * group + 10L * 999 * 1_000 / 2);
            }
        }
    }

    @Test
    void executorsFindTheClassesOfTests() {
        try (SparkCluster cluster = SparkCluster.start(1, ShuffleMode.SORT, Map.of())) {
            MapFunction<Long, Long> twice = id -> 2 * id;

            assertThat(cluster.spark().range(3).map(twice, Encoders.LONG()).collectAsList())
                    .containsExactlyInAnyOrder(0L, 2L, 4L);
        }
    }
}
