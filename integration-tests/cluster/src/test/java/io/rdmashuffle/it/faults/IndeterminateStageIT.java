// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import scala.Tuple2;

/** A stage whose output depends on the order in which blocks arrived, which only RDDs have. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class IndeterminateStageIT {
    private static final int ROWS = 30_000;
    /** Three that write, and the one with the result. */
    private static final int STAGES = 4;

    @TempDir
    Path local;

    /** When one of its outputs is lost, all must be written again, and all that read them. */
    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.COPIED, ShuffleKind.OVER_TCP, ShuffleKind.STREAMS})
    void isRolledBack(ShuffleKind kind) throws Exception {
        assertThat(stageAttemptsWithAKill(kind, false)).isGreaterThan(STAGES);
    }

    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.COPIED, ShuffleKind.STREAMS})
    void isNotRolledBackIfItsOutputsStay(ShuffleKind kind) throws Exception {
        assertThat(stageAttemptsWithAKill(kind, true)).isEqualTo(STAGES);
    }

    private int stageAttemptsWithAKill(ShuffleKind kind, boolean outlive) throws Exception {
        Map<String, String> conf = Map.of(
                "spark.shuffle.rdma.registry.sweepInterval",
                "2s",
                "spark.shuffle.rdma.outlive.enabled",
                Boolean.toString(outlive));
        try (KindCluster cluster = KindCluster.start(kind, 3, local, conf)) {
            Watched watched = cluster.watch();
            JavaPairRDD<Integer, Integer> reduced = JavaSparkContext.fromSparkContext(
                            cluster.spark().context())
                    .parallelize(IntStream.range(0, ROWS).boxed().toList(), 6)
                    .mapToPair(i -> new Tuple2<>(i, i))
                    .reduceByKey(Integer::sum, 6)
                    .repartition(5)
                    .mapToPair(pair -> {
                        if (pair._1() % 100 == 0) {
                            Thread.sleep(10);
                        }
                        return new Tuple2<>(pair._1() % 10, 1);
                    })
                    .reduceByKey(Integer::sum, 4);
            // 6 of the first, 6 of the second that shuffles round robin, 2 of the third that reads it.
            FaultTrigger fault = FaultTrigger.at(cluster.spark().context(), Place.MAP_TASK_ENDS, 14, () -> {
                ProcessHandle victim = cluster.spark().executorProcesses().get(0);
                assertThat(victim.destroyForcibly()).isTrue();
                victim.onExit().get(30, TimeUnit.SECONDS);
            });
            Map<Integer, Integer> counts = reduced.collectAsMap();
            fault.awaitEnd();
            assertThat(counts)
                    .hasSize(10)
                    .allSatisfy((key, count) -> assertThat(count).isEqualTo(ROWS / 10));
            int attempts = watched.tasks().stageAttempts();
            watched.assertReadSoAndAllComesBack();
            return attempts;
        }
    }
}
