// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.doctor.host.HostDoctor;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.HostReport;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.ofi.KernelDevices;
import io.rdmashuffle.peer.PathProbe;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.verbs.DeviceList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;

/**
 * Task of the second round: reads from the other executors, and holds its place as {@link ExecutorJoin} does.
 *
 * <p><b>Threading:</b> immutable; called on task threads.
 *
 * @param places of all executors by id
 */
record ExecutorProbe(Map<String, BlockManagerId> places) implements Function<Integer, ExecutorReport> {
    private static final long serialVersionUID = 1L;

    private static final double MICROSECOND = TimeUnit.MICROSECONDS.toNanos(1);

    @Override
    public ExecutorReport call(Integer task) throws Exception {
        long begun = System.nanoTime();
        SparkEnv env = SparkEnv.get();
        RdmaShuffleManager manager = (RdmaShuffleManager) env.shuffleManager();
        String self = env.executorId();
        String host = env.blockManager().blockManagerId().host();
        List<String> others =
                places.keySet().stream().filter(id -> !id.equals(self)).toList();
        List<PathProbe> probes = manager.probe(others);
        ExecutorReport report = report(env, self, host, probes);
        ExecutorJoin.hold(begun);
        return report;
    }

    private ExecutorReport report(SparkEnv env, String self, String host, List<PathProbe> probes) {
        Map<String, String> settings = new HashMap<>();
        for (Tuple2<String, String> setting : env.conf().getAll()) {
            settings.put(setting._1(), setting._2());
        }
        HostReport doctor = HostDoctor.examine(settings);
        boolean hasDevice =
                !DeviceList.ofKernel().isEmpty() || KernelDevices.provider().isPresent();
        String wanted = hasDevice ? PairReport.VERBS : PairReport.TCP;
        List<PairReport> pairs = new ArrayList<>();
        for (PathProbe probe : probes) {
            BlockManagerId place = Objects.requireNonNull(places.get(probe.executorId()));
            boolean oneHost = host.equals(place.host());
            pairs.add(pair(env, self, wanted, probe, place)
                    .withReason(oneHost ? reasonOnOneHost(probe) : doctor.verdict()));
        }
        List<String> findings = doctor.findings().stream()
                .filter(finding ->
                        finding.effect() == Effect.NO_RDMA || finding.check().equals("gid"))
                .filter(finding -> finding.effect() != Effect.NONE)
                .map(finding -> finding.check() + ": " + finding.message() + "\nremedy: " + finding.remedy())
                .toList();
        return new ExecutorReport(self, host, doctor.verdict(), new ArrayList<>(findings), pairs);
    }

    private static String reasonOnOneHost(PathProbe probe) {
        return probe.passedOver().isEmpty()
                ? "spark.shuffle.rdma.fabric.mode or its fabric.shm.inPlace asks for it"
                : probe.passedOver();
    }

    private static PairReport pair(SparkEnv env, String self, String wanted, PathProbe probe, BlockManagerId place) {
        String owner = probe.executorId();
        boolean oneHost = env.blockManager().blockManagerId().host().equals(place.host());
        if (!probe.fabric().equals(PathProbe.NETTY)) {
            String path = probe.inPlace() ? PairReport.IN_PLACE : probe.fabric();
            double micros = probe.medianNanos() / MICROSECOND;
            return PairReport.of(self, owner, oneHost, wanted, path, micros, probe.bytesPerSecond(), probe.reason());
        }
        try {
            ReadTimes times = new NettyProbe(env.blockManager().blockTransferService(), place).measure();
            double micros = times.medianNanos() / MICROSECOND;
            return PairReport.of(
                    self, owner, oneHost, wanted, PairReport.NETTY, micros, times.bytesPerSecond(), probe.reason());
        } catch (IOException e) {
            String reason = probe.reason() + (probe.reason().isEmpty() ? "" : "; ") + "netty failed: " + e.getMessage();
            return PairReport.of(self, owner, oneHost, wanted, PairReport.NETTY, 0, 0, reason);
        }
    }
}
