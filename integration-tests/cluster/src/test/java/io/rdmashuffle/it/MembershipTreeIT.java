// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.fixture.PoolFolder;
import io.rdmashuffle.harness.fixture.SparkCluster;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import scala.Tuple2;

/** Executors of a cluster that counts as large: they tell each other who is there, over Spark's block transfer. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class MembershipTreeIT {
    /** The driver hands an update to three of them; two of these pass it on. */
    private static final int EXECUTORS = 5;

    private static final GroupedBytes JOB = new GroupedBytes(12, 12, 0);
    private static final Map<Integer, Long> EXPECTED = JOB.expected();

    @RegisterExtension
    final PoolFolder pools = new PoolFolder();

    @Test
    @Tag("nightly")
    void executorsHearOfEachOtherFromEachOther() throws Exception {
        Map<String, String> conf = pools.conf(
                "spark.shuffle.manager",
                TreeRegistryManager.class.getName(),
                "spark.authenticate",
                "true",
                "spark.authenticate.secret",
                "for this test",
                "spark.network.crypto.enabled",
                "true");
        try (SparkCluster cluster = SparkCluster.start(EXECUTORS, ShuffleMode.AUTO, conf)) {
            ShuffleObserver observer = new ShuffleObserver(cluster.context());
            ShuffleObserver.await("executors pass changes on", () -> {
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                return observer.statistics().byExecutor().size() == EXECUTORS && total(counts(cluster), "pushed") > 0;
            });

            // One that comes later gets its snapshot from one of the others.
            ProcessHandle victim = cluster.executorProcesses().get(0);
            assertThat(victim.destroyForcibly()).isTrue();
            victim.onExit().get(30, TimeUnit.SECONDS);
            cluster.awaitExecutors(EXECUTORS);
            ShuffleObserver.await("the new executor has fetched a snapshot", () -> {
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                return counts(cluster).values().stream().anyMatch(counts -> counts.containsKey("pulled"));
            });
            Map<String, Map<String, Integer>> counts = counts(cluster);
            System.out.println("MembershipTreeIT: " + counts);
            assertThat(total(counts, "pull failed")).isLessThanOrEqualTo(EXECUTORS);

            ShuffleObserver.await("shared memory is the only path", () -> {
                long netty = observer.statistics().total(ShuffleCounter.NETTY_BYTES);
                assertThat(GroupedBytes.sums(JOB.prepare(cluster.spark()))).isEqualTo(EXPECTED);
                return observer.statistics().byExecutor().size() == EXECUTORS
                        && observer.statistics().total(ShuffleCounter.NETTY_BYTES) == netty;
            });
            observer.assertAllComesBack();
        }
    }

    private static int total(Map<String, Map<String, Integer>> counts, String what) {
        return counts.values().stream()
                .mapToInt(each -> each.getOrDefault(what, 0))
                .sum();
    }

    /** Asks executors through tasks; one that is given none is missing. */
    private static Map<String, Map<String, Integer>> counts(SparkCluster cluster) {
        List<Integer> tasks = IntStream.range(0, 4 * EXECUTORS).boxed().toList();
        return new HashMap<>(JavaSparkContext.fromSparkContext(cluster.context())
                .parallelize(tasks, tasks.size())
                .mapToPair(task -> {
                    Thread.sleep(50);
                    return new Tuple2<>(SparkEnv.get().executorId(), TreeRegistryManager.counts());
                })
                .collectAsMap());
    }
}
