// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.doctor.host.HostDoctor;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.HostReport;
import io.rdmashuffle.peer.PathProbe;
import io.rdmashuffle.spark.RdmaShuffleManager;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;
import scala.Tuple2;

/**
 * What a task does: joins its executor to the others and reads from them, while it holds its place so that the other
 * tasks go to other executors.
 *
 * <p><b>Threading:</b> immutable; called on task threads.
 *
 * @param hosts of all executors by id; empty where executors shall only join
 */
record ExecutorProbe(Map<String, String> hosts) implements Function<Integer, ExecutorReport> {
    private static final long serialVersionUID = 1L;

    /** Long enough for the scheduler to have offered every executor a task. */
    private static final long HELD_MILLIS = 300;

    private static final double MICROSECOND = TimeUnit.MICROSECONDS.toNanos(1);

    @Override
    public ExecutorReport call(Integer task) throws Exception {
        long begun = System.nanoTime();
        SparkEnv env = SparkEnv.get();
        RdmaShuffleManager manager = (RdmaShuffleManager) env.shuffleManager();
        String self = env.executorId();
        String host = env.blockManager().blockManagerId().host();
        List<String> others =
                hosts.keySet().stream().filter(id -> !id.equals(self)).toList();
        List<PathProbe> probes = manager.probe(others);
        ExecutorReport report = hosts.isEmpty()
                ? new ExecutorReport(self, host, "", List.of(), List.of())
                : report(env, self, host, probes);
        long left = HELD_MILLIS - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        if (left > 0) {
            Thread.sleep(left);
        }
        return report;
    }

    private ExecutorReport report(SparkEnv env, String self, String host, List<PathProbe> probes) {
        Map<String, String> settings = new HashMap<>();
        for (Tuple2<String, String> setting : env.conf().getAll()) {
            settings.put(setting._1(), setting._2());
        }
        HostReport doctor = HostDoctor.examine(settings);
        List<PairReport> pairs = new ArrayList<>();
        for (PathProbe probe : probes) {
            boolean oneHost = host.equals(hosts.get(probe.executorId()));
            String path = probe.inPlace() ? PairReport.IN_PLACE : probe.fabric();
            pairs.add(PairReport.of(
                            self,
                            probe.executorId(),
                            oneHost,
                            path,
                            probe.medianNanos() / MICROSECOND,
                            probe.bytesPerSecond(),
                            probe.reason())
                    .withReason(
                            oneHost
                                    ? "spark.shuffle.rdma.fabric.mode or its fabric.shm.inPlace asks for it"
                                    : doctor.verdict()));
        }
        List<String> findings = doctor.findings().stream()
                .filter(finding ->
                        finding.effect() == Effect.NO_RDMA || finding.check().equals("gid"))
                .filter(finding -> finding.effect() != Effect.NONE)
                .map(finding -> finding.check() + ": " + finding.message() + "\nremedy: " + finding.remedy())
                .toList();
        return new ExecutorReport(self, host, doctor.verdict(), new ArrayList<>(findings), pairs);
    }
}
