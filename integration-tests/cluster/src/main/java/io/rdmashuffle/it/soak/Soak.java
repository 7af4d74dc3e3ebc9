// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.SparkKeys;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code bin/soak}: random jobs, random faults, every result beside sort shuffle's. */
@Command(
        name = "soak",
        description = {
            "Runs random jobs with random configurations and faults until the time is over, and compares every result"
                    + " with sort shuffle's.",
            ""
        },
        exitCodeList = {
            "0:no result differed, no job failed, nothing leaked",
            "1:one did, or in 20 minutes and more a way had less than a quarter of the bytes",
            "2:an option was wrong"
        })
public final class Soak extends Tool {
    private static final int MOST_MINUTES = 7 * 24 * 60;

    /** As many applications as it takes for bytes to have gone every way, and how long each of them has. */
    private static final int FEWEST = 3;

    private static final Duration SHORTEST = Duration.ofSeconds(40);

    /** Most applications that run after the end for a transport with less than its least share. */
    private static final int MOST_AFTER_END = 3;

    @Option(
            names = "--minutes",
            paramLabel = "N",
            description = "How long; three applications at least, and the one under way, are brought to their end;"
                    + " in 20 minutes and more up to three others, while a way has less than a quarter of the bytes."
                    + " Default: ${DEFAULT-VALUE}")
    private int minutes = 3;

    @Option(
            names = "--seed",
            paramLabel = "S",
            description = "Where randomness starts: equal seeds give equal jobs, configurations and faults, though not"
                    + " equal moments. Default: the day, as ${DEFAULT-VALUE}")
    private long seed = Long.parseLong(LocalDate.now(ZoneOffset.UTC).format(DateTimeFormatter.BASIC_ISO_DATE));

    @Option(
            names = "--fabric",
            converter = ShuffleModeConverter.class,
            paramLabel = "MODE",
            description = "One path for all applications, instead of a drawn one: ${COMPLETION-CANDIDATES}")
    private @Nullable ShuffleMode fabric;

    @Option(
            names = "--first",
            paramLabel = "N",
            description = "Application to begin with, to see again what an earlier run met. Default: ${DEFAULT-VALUE}")
    private int first;

    @Option(
            names = "--way",
            paramLabel = "WAY",
            description = "Path of the first application's bytes, instead of the least used one: the value that was"
                    + " printed for the application to repeat. One of: ${COMPLETION-CANDIDATES}")
    private @Nullable Way way;

    @Option(
            names = "--faults",
            split = ",",
            paramLabel = "FAULT,...",
            description = "The only faults that may happen, instead of all: ${COMPLETION-CANDIDATES}")
    private Set<Fault> faults = EnumSet.allOf(Fault.class);

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of every application, which wins over the drawn one; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    private Soak() {}

    /** Called by {@code bin/soak}. */
    public static void main(String[] args) {
        run(new Soak(), args);
    }

    @Override
    public Integer call() throws Exception {
        check(this::checkOptions);
        Workspace workspace = Workspace.find();
        Path folder = Files.createDirectories(workspace.target("cluster").resolve("soak"));
        Path run = Files.createTempDirectory(folder, "run-");
        Path pools = Files.createTempDirectory(Path.of("/dev/shm"), "rdma-soak-");
        out.printf("soak of %d min with seed %d; logs in %s%n", minutes, seed, run);
        Duration length = Duration.ofMinutes(minutes);
        SoakReport report = new SoakReport(length, fabric == null);
        long end = System.nanoTime() + length.toNanos();
        try (SoakApplication reference = new SoakApplication(workspace, referenceConf(), run.resolve("sort.log"))) {
            int afterEnd = 0;
            for (int number = first; ; number++) {
                boolean over = number >= first + FEWEST && System.nanoTime() >= end;
                if (over && (report.belowLeastShare().isEmpty() || afterEnd++ == MOST_AFTER_END)) {
                    break;
                }
                ApplicationPlan plan = ApplicationPlan.random(
                                seed, number, wayOf(number, report), fabric, pools, faults)
                        .with(conf);
                long least = System.nanoTime() + SHORTEST.toNanos();
                new SoakRun(workspace, run, pools, plan, reference, report).run(Math.max(end, least));
                out.printf(
                        Locale.ROOT,
                        "application %d (%s, %s, %d executors, pool %s): in all %d jobs, %d faults, %d wrong%n",
                        number,
                        plan.way(),
                        plan.conf().get("spark.shuffle.rdma.fabric.mode"),
                        plan.executors(),
                        plan.conf().getOrDefault("spark.shuffle.rdma.pool.maxSize", "on defaults"),
                        report.jobs(),
                        report.faults(),
                        report.wrong());
            }
        }
        lastOneLeavesNothing(workspace, run, pools, report);
        out.println(report);
        return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private Way wayOf(int number, SoakReport report) {
        if (way != null && number == first) {
            return way;
        }
        // One fabric cannot go every way, so that shares say nothing.
        return Way.of(number, fabric == null ? report.shares() : Map.of());
    }

    private void checkOptions() {
        if (minutes < 1 || minutes > MOST_MINUTES) {
            throw new IllegalArgumentException("--minutes " + minutes + ": allowed is 1 to " + MOST_MINUTES);
        }
        if (first < 0) {
            throw new IllegalArgumentException("--first " + first + ": allowed is 0 and more");
        }
        SparkKeys.check("--conf", conf.keySet());
        if (fabric == ShuffleMode.SORT) {
            throw new IllegalArgumentException("--fabric sort: it would be compared with itself");
        }
    }

    private static Map<String, String> referenceConf() {
        Map<String, String> conf = new LinkedHashMap<>(ShuffleMode.SORT.conf());
        conf.put("spark.master", "local[2]");
        conf.put("spark.ui.enabled", "false");
        return conf;
    }

    /**
     * Files of killed executors go when the next pool of that directory is made, the others at their executor's end.
     */
    private void lastOneLeavesNothing(Workspace workspace, Path run, Path pools, SoakReport report)
            throws IOException, InterruptedException {
        Map<String, String> conf = new LinkedHashMap<>(ShuffleMode.AUTO.conf());
        conf.put("spark.master", "local[1]");
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.shuffle.rdma.pool.directory", pools.toString());
        try (SoakApplication last = new SoakApplication(workspace, conf, run.resolve("last.log"))) {
            SoakReply held = last.ask(SoakRequest.of(SoakRequest.Operation.DRAIN), Duration.ofMinutes(1));
            if (!held.ok() || ShuffleMeter.isHeld(held.counters())) {
                report.leak("an application without jobs holds " + held);
            }
        }
        try (Stream<Path> files = Files.list(pools)) {
            List<Path> left = files.toList();
            if (!left.isEmpty()) {
                report.leak("files of pools: " + left);
                return;
            }
        }
        Files.delete(pools);
    }
}
