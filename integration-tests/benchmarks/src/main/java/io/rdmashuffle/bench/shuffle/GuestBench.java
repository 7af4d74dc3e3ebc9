// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.jobs.BenchJob;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
import io.rdmashuffle.bench.jobs.BenchJob.Kind;
import io.rdmashuffle.bench.jobs.JobMeter;
import io.rdmashuffle.bench.jobs.Measurement;
import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.SparkSession;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code bin/bench remote --guests}: jobs across hosts, sort shuffle over Netty beside ours over RDMA READ. This is the
 * driver; each run of a job is an application of its own on executors of a standalone cluster.
 */
@Command(
        name = "bench remote --guests",
        description = {
            "Runs jobs across two QEMU machines with soft-RoCE on the same emulated network: sort shuffle over"
                    + " Netty and ours over RDMA READ, in turn, each time in new executors that have run the job once"
                    + " before. Both are emulated, and soft-RoCE has no hardware to save a processor's work, so only"
                    + " ratios mean something, and they say nothing of a network card.",
            ""
        },
        exitCodeList = {
            "0:all jobs ran, moved the same records, and ours read all remote bytes by READ",
            "1:a job failed or moved different records or took another way",
            "2:an option was wrong"
        })
public final class GuestBench extends Tool {
    private static final int EXECUTORS = 2;
    private static final int PAYLOAD_BYTES = 100;
    private static final Duration START = Duration.ofMinutes(5);
    private static final double MILLIS = 1_000;

    @Option(names = "--master", paramLabel = "URL", hidden = true, description = "The cluster's master")
    private String master = "";

    @Option(names = "--garbage", paramLabel = "DIR", hidden = true, description = "Folder for the executors' logs")
    private Path garbage = Path.of("/tmp/garbage");

    @Option(
            names = "--link",
            paramLabel = "NETEM",
            description = "Shape of each host's link, as tc-netem(8) options, such as 'rate 1gbit delay 50us'."
                    + " Default: not at all")
    private String link = "";

    @Option(
            names = "--rows",
            paramLabel = "N",
            description = "Rows of 100 B of a job, over all map tasks. Default: ${DEFAULT-VALUE}")
    private long rows = 200_000;

    @Option(
            names = "--partitions",
            paramLabel = "N",
            description = "Map tasks of a job, and reduce tasks. Default: ${DEFAULT-VALUE}")
    private int partitions = 16;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Rounds of each job with each shuffle, alternating. Default: ${DEFAULT-VALUE}")
    private int rounds = 3;

    @Option(
            names = "--jobs",
            paramLabel = "NAMES",
            split = ",",
            description = "Some of ${COMPLETION-CANDIDATES}. Default: REPARTITION,JOIN")
    private List<Kind> kinds = List.of(Kind.REPARTITION, Kind.JOIN);

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of all applications; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    /** Shuffles that are compared. */
    private enum Way {
        NETTY("sort shuffle over Netty", ShuffleMode.SORT),
        READ("ours over RDMA READ", ShuffleMode.VERBS);

        private final String label;
        private final ShuffleMode mode;

        Way(String label, ShuffleMode mode) {
            this.label = label;
            this.mode = mode;
        }
    }

    /** Measurements of one job. */
    private record Line(Kind kind, Map<Way, List<Measurement>> runs) {
        Spread figure(Way way, ToLongFunction<Measurement> figure) {
            return Spread.of(runs.getOrDefault(way, List.of()).stream()
                    .map(figure::applyAsLong)
                    .toList());
        }

        double perTask(Way way, int tasks, ToLongFunction<Measurement> figure) {
            return figure(way, figure).median() / tasks;
        }
    }

    /** Called by {@code bin/bench remote --guests} on the first host. */
    public static void main(String[] args) {
        run(new GuestBench(), args);
    }

    private void checkOptions() {
        if (rows < 1 || partitions < 1 || rounds < 1) {
            throw new IllegalArgumentException("--rows " + rows + ", --partitions " + partitions + ", --rounds "
                    + rounds + ": allowed is 1 and more");
        }
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(this::checkOptions);
        Files.createDirectories(garbage);
        out.println("two executors on two hosts; link: " + (link.isEmpty() ? "as it is" : link) + "; " + rows
                + " rows of 100 B, " + partitions + " x " + partitions + " partitions");
        List<Line> lines = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        try (StepProgress progress = new StepProgress(out, "runs", kinds.size() * rounds * Way.values().length)) {
            for (Kind kind : kinds) {
                lines.add(measure(kind, progress, wrong));
            }
        }
        out.println(table().render(lines));
        out.println("s: median (least-greatest); ratio above 1: ours needs less; a / b: Netty / READ; a task: a reduce"
                + " task");
        wrong.forEach(out::println);
        return wrong.isEmpty() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private Line measure(Kind kind, StepProgress progress, List<String> wrong)
            throws IOException, InterruptedException {
        Map<Way, List<Measurement>> runs = new EnumMap<>(Way.class);
        BenchJob job = new BenchJob(kind, rows, partitions, PAYLOAD_BYTES, Form.FULL);
        for (int round = 1; round <= rounds; round++) {
            for (Way way : Way.values()) {
                progress.starting(kind + ", round " + round + ", " + way.label);
                Measurement measured = measure(job, way);
                runs.computeIfAbsent(way, first -> new ArrayList<>()).add(measured);
                check(job, way, measured, wrong);
                progress.finished(String.format(
                        Locale.ROOT, "%s, round %d, %s: %.2f s", kind, round, way.label, measured.millis() / MILLIS));
            }
        }
        return new Line(kind, runs);
    }

    private void check(BenchJob job, Way way, Measurement measured, List<String> wrong) {
        long written = measured.tasks().recordsWritten();
        if (written < rows
                || measured.tasks().recordsRead() != written
                || measured.tasks().failedTasks() > 0) {
            wrong.add(job.kind() + " with " + way.label + " is not the same work: " + measured.tasks());
        }
        long elsewhere = measured.gained(ShuffleCounter.NETTY_BYTES) + measured.gained(ShuffleCounter.FILE_BYTES);
        if (way == Way.READ && (measured.gained(ShuffleCounter.VERBS_BYTES) == 0 || elsewhere > 0)) {
            wrong.add(job.kind() + " did not read all by READ: " + measured.gained());
        }
    }

    private Measurement measure(BenchJob job, Way way) throws IOException, InterruptedException {
        SparkSession.Builder builder = SparkSession.builder().appName("bench-" + way);
        Map<String, String> all = new LinkedHashMap<>();
        all.put("spark.master", master);
        all.put("spark.cores.max", Integer.toString(EXECUTORS));
        all.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        all.put("spark.sql.adaptive.enabled", "false");
        all.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        all.putAll(conf);
        all.putAll(way.mode.conf());
        all.forEach(builder::config);
        try (SparkSession spark = builder.getOrCreate()) {
            JobMeter meter = new JobMeter(spark, new GarbageLog(garbage));
            meter.awaitExecutors(EXECUTORS, START);
            Measurement warmUp = meter.run(job);
            out.println("  warm-up " + warmUp.millis() + " ms");
            return meter.run(job);
        }
    }

    private TextTable<Line> table() {
        TextTable<Line> table =
                new TextTable<Line>().text("job", line -> line.kind().toString());
        for (Way way : Way.values()) {
            table.number(
                    way + " s",
                    line -> line.figure(way, Measurement::millis)
                            .dividedBy(MILLIS)
                            .toString());
        }
        table.number(
                "NETTY/READ",
                line -> Ratio.format(Ratio.of(
                        line.figure(Way.NETTY, Measurement::millis).median(),
                        line.figure(Way.READ, Measurement::millis).median())));
        table.number("blocked ms/task", line -> both(line, run -> run.tasks().fetchWaitMillis()));
        table.number("garbage KB/task", line -> both(line, run -> run.garbageBytes() / 1_000));
        table.number("read KB/task", line -> both(line, run -> run.tasks().bytesRead() / 1_000));
        for (ShuffleCounter counter : List.of(
                ShuffleCounter.READS, ShuffleCounter.DOORBELLS, ShuffleCounter.COMPLETIONS, ShuffleCounter.WAKE_UPS)) {
            table.number(
                    counter.label() + "/task",
                    line -> decimals(line.perTask(Way.READ, partitions, run -> run.gained(counter))));
        }
        return table;
    }

    private String both(Line line, ToLongFunction<Measurement> figure) {
        return decimals(line.perTask(Way.NETTY, partitions, figure)) + " / "
                + decimals(line.perTask(Way.READ, partitions, figure));
    }

    private static String decimals(double value) {
        return String.format(Locale.ROOT, "%.1f", value);
    }
}
