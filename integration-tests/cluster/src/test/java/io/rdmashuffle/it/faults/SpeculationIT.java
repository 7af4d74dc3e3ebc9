// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.ShuffleKinds;
import io.rdmashuffle.it.TaskRecorder;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import scala.Tuple2;

/** Speculation, which needs two hosts. */
@Tag("system")
@Timeout(value = 5, unit = TimeUnit.MINUTES)
class SpeculationIT {
    private static final int RECORDS = 10_000;
    private static final int KEYS = 10;

    @TempDir
    Path local;

    /**
     * Tests of two attempts of one map task: readers use the output that Spark names, and both are removed in the end.
     */
    @ParameterizedTest
    @ShuffleKinds({ShuffleKind.IN_PLACE, ShuffleKind.COPIED, ShuffleKind.OVER_TCP})
    void bothAttemptsOfATaskSucceed(ShuffleKind kind, @TempDir Path meeting) throws Exception {
        Map<String, String> conf = NetworkFaultsIT.conf(60);
        // Else reduce tasks may all run where all outputs are.
        conf.put("spark.shuffle.reduceLocality.enabled", "false");
        conf.put("spark.speculation", "true");
        conf.put("spark.speculation.interval", "100ms");
        conf.put("spark.speculation.minTaskRuntime", "100ms");
        conf.put("spark.speculation.multiplier", "1.1");
        conf.put("spark.speculation.quantile", "0.1");
        try (ExecutorHosts hosts = ExecutorHosts.make(2);
                KindCluster cluster = KindCluster.start(kind, 2, local, hosts.conf(conf))) {
            Watched watched = cluster.watch();
            TaskRecorder tasks = watched.tasks();
            // Whether the second is cancelled before it reports is a race that it mostly wins; and on a busy machine
            // one executor may run all reduce tasks and have all their inputs.
            for (int round = 0; round < 10 && (tasks.secondSuccesses() == 0 || watched.bytesOfPeers() == 0); round++) {
                Path folder = Files.createDirectory(meeting.resolve("round-" + round));
                assertThat(countsWithAMeeting(cluster, kind, folder.toString()))
                        .hasSize(KEYS)
                        .allSatisfy((key, count) -> assertThat(count).isEqualTo(RECORDS / KEYS));
            }
            assertThat(tasks.secondSuccesses()).isPositive();
            watched.assertReadSoAndAllComesBack();
        }
    }

    /** The attempts of the first map task wait for each other, so that they end together. */
    private static Map<Integer, Integer> countsWithAMeeting(KindCluster cluster, ShuffleKind kind, String folder) {
        JavaPairRDD<Integer, byte[]> records = JavaSparkContext.fromSparkContext(
                        cluster.spark().context())
                .parallelize(IntStream.range(0, RECORDS).boxed().toList(), 4)
                .mapPartitionsToPair(numbers -> {
                    List<Tuple2<Integer, byte[]>> all = new ArrayList<>();
                    numbers.forEachRemaining(i -> all.add(new Tuple2<>(i % KEYS, new byte[] {1})));
                    if (TaskContext.getPartitionId() == 0) {
                        meet(Path.of(folder));
                    }
                    return all.iterator();
                });
        return GroupedBytes.byKey(cluster.spark().spark(), kind, records, 6)
                .mapPartitionsToPair(read -> {
                    Map<Integer, Integer> counts = new HashMap<>();
                    read.forEachRemaining(record -> counts.merge(record._1(), 1, Integer::sum));
                    return counts.entrySet().stream()
                            .map(entry -> new Tuple2<>(entry.getKey(), entry.getValue()))
                            .iterator();
                })
                .collectAsMap();
    }

    private static void meet(Path folder) throws IOException, InterruptedException {
        Files.createFile(folder.resolve("attempt-" + TaskContext.get().taskAttemptId()));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (System.nanoTime() - deadline < 0) {
            try (Stream<Path> attempts = Files.list(folder)) {
                if (attempts.count() > 1) {
                    return;
                }
            }
            Thread.sleep(1);
        }
        throw new IOException("no second attempt came");
    }
}
