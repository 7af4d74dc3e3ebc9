// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.it.GroupedBytes;
import io.rdmashuffle.it.ShuffleKind;
import io.rdmashuffle.it.faults.FaultTrigger.Place;
import io.rdmashuffle.it.faults.KindCluster.Watched;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.FetchFailed;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Half of a cluster's executors lost at once, as with a rack or with preempted machines. */
@Tag("system")
@Tag("long")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class MassLossIT {
    private static final int EXECUTORS = 20;
    private static final GroupedBytes JOB = new GroupedBytes(40, 40, 1);

    @TempDir
    Path local;

    /** Nothing is kept, so that map tasks run again. */
    @Test
    void halfOfTwentyExecutorsAreKilledWhileTheyRead() throws Exception {
        killHalf(false);
    }

    @Test
    void outputsOfHalfOfTwentyExecutorsAreKept() throws Exception {
        killHalf(true);
    }

    private void killHalf(boolean outlive) throws Exception {
        Map<String, String> conf = Map.of(
                "spark.executor.memory", "512m",
                "spark.master", "local-cluster[" + EXECUTORS + ",1,512]",
                "spark.shuffle.rdma.pool.maxSize", "64m",
                "spark.shuffle.rdma.outlive.enabled", Boolean.toString(outlive),
                "spark.shuffle.rdma.fetch.timeout", "10s",
                "spark.shuffle.io.retryWait", "500ms",
                "spark.shuffle.rdma.registry.sweepInterval", "2s");
        try (KindCluster cluster = KindCluster.start(ShuffleKind.IN_PLACE, EXECUTORS, local, conf)) {
            Watched watched = cluster.watch();
            FaultTrigger fault = FaultTrigger.at(cluster.spark().context(), Place.REDUCE_TASK_STARTS, 2, () -> {
                List<ProcessHandle> victims =
                        cluster.spark().executorProcesses().subList(0, EXECUTORS / 2);
                victims.forEach(ProcessHandle::destroyForcibly);
                for (ProcessHandle victim : victims) {
                    victim.onExit().get(30, TimeUnit.SECONDS);
                }
            });
            assertThat(GroupedBytes.sums(watched.prepare(JOB))).isEqualTo(JOB.expected());
            fault.awaitEnd();
            if (outlive) {
                assertThat(watched.tasks().mapTasks()).isEqualTo(JOB.maps());
                assertThat(watched.tasks().failures()).noneMatch(FetchFailed.class::isInstance);
            } else {
                assertThat(watched.tasks().mapTasks()).isGreaterThan(JOB.maps());
            }
            watched.assertReadSoAndAllComesBack();
        }
    }
}
