// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import io.rdmashuffle.bench.membership.MembershipReport;
import io.rdmashuffle.bench.membership.MembershipSimulation;
import io.rdmashuffle.bench.metadata.ClusterSimulation.Cluster;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench metadata}: what finding map outputs costs, on simulated executors. */
@Command(
        name = "bench metadata",
        description = {
            "Simulates executors in one process, without Spark, on the plugin's own registry, pools, directories and"
                    + " indexes. They join, publish map outputs of one byte for each partition, look all of them up as"
                    + " reduce tasks do, and remove them.",
            "",
            "Goals stand beside figures; one that is missed does not change the exit code. Registry messages are"
                    + " counted as encoded, without the envelope of Spark's RPC. A reader's first lookup (cold)"
                    + " connects, reads the directories and meets the indexes for the first time; later ones (warm)"
                    + " take random partitions.",
            "",
            "With --membership: executors join, are lost and are replaced on a modelled network, and the driver's and"
                    + " the busiest executor's messages are counted. 10,000 executors take a quarter of an hour of"
                    + " CPU time, and were tried with JAVA_TOOL_OPTIONS=-Xmx8g.",
            "",
            "With --clusters: reads, CPU time and heap of an executor whose reduce tasks find their blocks, as the"
                    + " number of executors and of their cores grows. Each core has written one map output.",
            ""
        },
        exitCodeList = {"0:all was simulated", "1:something failed, or the pools do not fit", "2:an option was wrong"})
public final class MetadataBench extends Tool {
    /** Enough for the JIT compilers before the measurement. */
    private static final Scale WARM_UP = new Scale(1_000, 1_000, 10);

    private static final Simulation.Effort WARM_UP_EFFORT = new Simulation.Effort(10, 20, 0);
    private static final int WARM_UPS = 3;
    private static final Cluster WARM_UP_CLUSTER = new Cluster(100, 64);
    private static final int SMALLEST_CLUSTER = 10;
    private static final int[] CORES = {6, 16, 64};

    @Mixin
    MetadataOptions options = new MetadataOptions();

    /** Called by {@code bin/bench metadata}. */
    public static void main(String[] args) {
        run(new MetadataBench(), args);
    }

    @Override
    public Integer call() throws Exception {
        check(options::check);
        if (options.isMembership()) {
            return membership();
        }
        if (options.isClusters()) {
            return clusters();
        }
        List<Scale> scales = options.scales();
        for (Scale scale : scales) {
            checkRoom(scale);
        }
        List<Figures> figures = new ArrayList<>();
        try (StepProgress progress = new StepProgress(out, "simulations", WARM_UPS + scales.size())) {
            for (int i = 0; i < WARM_UPS; i++) {
                progress.starting("warm-up");
                simulate(WARM_UP, WARM_UP_EFFORT);
                progress.finished("warm-up " + (i + 1));
            }
            for (Scale scale : scales) {
                progress.starting(scale.toString());
                figures.add(simulate(scale, options.effort()));
                progress.finished(scale.toString());
            }
        }
        MetadataReport report = new MetadataReport(options.settings(), figures);
        out.println(report.render());
        Path json = options.json();
        if (json != null) {
            report.writeJson(json);
            out.println("written: " + json);
        }
        return CommandLine.ExitCode.OK;
    }

    private Integer membership() throws IOException {
        MembershipReport report;
        try (StepProgress progress = new StepProgress(out, "scenarios", MembershipSimulation.SCENARIOS)) {
            progress.starting(options.executors() + " executors");
            report = new MembershipSimulation(options.executors(), options.seed(), progress::finished).run();
        }
        out.println(report.render());
        Path json = options.json();
        if (json != null) {
            report.writeJson(json);
            out.println("written: " + json);
        }
        return CommandLine.ExitCode.OK;
    }

    private Integer clusters() throws IOException, InterruptedException {
        List<Cluster> sizes = new ArrayList<>();
        for (int executors = SMALLEST_CLUSTER; executors <= options.executors(); executors *= SMALLEST_CLUSTER) {
            for (int cores : CORES) {
                sizes.add(new Cluster(executors, cores));
            }
        }
        ClusterSimulation simulation = new ClusterSimulation(options.directory());
        List<ClusterSimulation.Result> results = new ArrayList<>();
        try (StepProgress progress = new StepProgress(out, "clusters", WARM_UPS + sizes.size())) {
            for (int i = 1; i <= WARM_UPS; i++) {
                simulation.run(WARM_UP_CLUSTER);
                progress.finished("warm-up " + i);
            }
            for (Cluster each : sizes) {
                progress.starting(each.toString());
                results.add(simulation.run(each));
                progress.finished(each.toString());
            }
        }
        ClusterReport report = new ClusterReport(results);
        out.println(report.render());
        Path json = options.json();
        if (json != null) {
            report.writeJson(json);
            out.println("written: " + json);
        }
        return CommandLine.ExitCode.OK;
    }

    private Figures simulate(Scale scale, Simulation.Effort effort) throws Exception {
        boolean inPlace = options.reads() == MetadataOptions.Reads.IN_PLACE;
        try (Simulation simulation = Simulation.open(scale, effort, options.directory(), inPlace)) {
            return simulation.run();
        }
    }

    private void checkRoom(Scale scale) throws IOException {
        long wanted = scale.executors() * SimulatedExecutor.poolBytes(scale);
        long free = Files.getFileStore(options.directory()).getUsableSpace();
        if (wanted > free) {
            throw new IOException("the pools of " + scale + " take " + ReadableBytes.format(wanted) + ", and "
                    + options.directory() + " has " + ReadableBytes.format(free) + "; lower --maps or --partitions");
        }
    }
}
