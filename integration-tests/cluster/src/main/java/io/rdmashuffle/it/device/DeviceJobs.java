// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.harness.tpcds.TpcdsData;
import io.rdmashuffle.spark.RdmaShuffleManager;
import io.rdmashuffle.spark.driver.ClusterStatistics;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Runs jobs in one Spark application and prints a line for each: passed or failed, and at the end the bytes by path.
 *
 * <p>Exit code 0 if everything passed, 1 if not.
 */
@Command(
        name = "device-jobs",
        description = "Spark jobs whose results and bytes by path are checked.",
        showDefaultValues = true)
public final class DeviceJobs extends Tool {
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(60);
    private static final long EXECUTORS_SECONDS = 600;
    private static final List<ShuffleCounter> REMOTE = List.of(
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);
    private static final List<ShuffleCounter> BY_PATH = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);

    @Option(
            names = "--fabric",
            converter = ShuffleModeConverter.class,
            defaultValue = "verbs",
            description = "required transport; sort is Spark's own shuffle")
    private ShuffleMode fabric = ShuffleMode.VERBS;

    @Option(
            names = "--path",
            converter = ShuffleModeConverter.class,
            description = "required transport of every remote byte: shm, verbs or netty; verbs with --fabric verbs")
    private @Nullable ShuffleMode path;

    @Option(names = "--libraries", description = "folder from which executors must have loaded a library of rdma-core")
    private @Nullable Path libraries;

    @Option(
            names = "--removal",
            description = "devices are removed and added meanwhile: regions are registered again, for other threads")
    private boolean removal;

    @Option(
            names = "--heirs",
            description = "an executor is killed, and another one of its host must serve its map outputs to others")
    private boolean heirs;

    @Option(names = "--jobs", split = ",", defaultValue = "groupBy,teraSort,q3,q7", description = "jobs to run")
    private List<String> jobs = List.of();

    @Option(
            names = "--scale",
            defaultValue = "0.01",
            description = "scale of the TPC-DS tables, made if they are missing")
    private BigDecimal scale = BigDecimal.ONE;

    @Option(names = "--rows", defaultValue = "100000", description = "rows of groupBy and teraSort")
    private long rows;

    @Option(names = "--executors", defaultValue = "2", description = "executors to wait for")
    private int executors;

    @Option(names = "--conf", description = "Spark configuration, key=value; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    @Option(names = "--on-disk", description = "check that most of the map outputs lay in the disk tier")
    private boolean onDisk;

    @Option(names = "--save", description = "file to write the results to")
    private @Nullable Path save;

    @Option(names = "--expect", description = "file with the results that must come out")
    private @Nullable Path expect;

    private final List<String> failures = new ArrayList<>();
    private int passed;

    private DeviceJobs() {}

    /** Called by spark-submit or plain {@code java}; master and configuration come as {@code spark.*} properties. */
    public static void main(String[] args) {
        run(new DeviceJobs(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        Workspace workspace = Workspace.find();
        TpcdsData data = new TpcdsData(workspace.data(), scale);
        data.ensure(workspace, System.err::println);
        SparkSession.Builder builder = SparkSession.builder().appName("device-jobs");
        fabric.conf().forEach(builder::config);
        conf.forEach(builder::config);
        Map<String, String> results = new LinkedHashMap<>();
        try (SparkSession spark = builder.getOrCreate()) {
            awaitExecutors(spark);
            JobResults runner = new JobResults(spark, data.folder(), rows);
            Properties expected = read(expect);
            for (String name : jobs) {
                DeviceJob job = DeviceJob.of(name);
                long started = System.nanoTime();
                String result = result(runner, job);
                results.put(job.label(), result);
                // Without a file to compare with, a result that came out at all is right; with one, it must be in
                // there.
                String wanted = expect == null ? result : expected.getProperty(job.label(), "nothing known");
                check(
                        job.label() + " (" + (System.nanoTime() - started) / 1_000_000 + " ms)",
                        result.equals(wanted) && !result.startsWith("failed"),
                        result.equals(wanted) ? result : result + " instead of " + wanted);
            }
            checkBytes();
            checkLibraries(spark);
        }
        write(results);
        failures.forEach(failure -> System.out.println("FAILED " + failure));
        System.out.printf("%d passed, %d failed, 0 skipped%n", passed, failures.size());
        return failures.isEmpty() ? 0 : 1;
    }

    private static String result(JobResults runner, DeviceJob job) throws IOException, InterruptedException {
        try {
            return runner.run(job);
        } catch (RuntimeException | TimeoutException e) {
            e.printStackTrace();
            return "failed: " + e.getMessage();
        }
    }

    private void awaitExecutors(SparkSession spark) throws InterruptedException {
        long deadline =
                System.nanoTime() + Duration.ofSeconds(EXECUTORS_SECONDS).toNanos();
        while (spark.sparkContext().statusTracker().getExecutorInfos().length - 1 < executors) {
            if (System.nanoTime() - deadline >= 0) {
                throw new IllegalStateException("not " + executors + " executors after " + EXECUTORS_SECONDS + " s");
            }
            Thread.sleep(100);
        }
    }

    /** Every remote byte must have taken the path asked for, and over RDMA regions are registered once. */
    private void checkBytes() {
        if (!(SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager)) {
            return;
        }
        ClusterStatistics statistics = manager.statistics(ANSWER_TIMEOUT);
        Map<String, Long> bytes = new LinkedHashMap<>();
        for (ShuffleCounter counter : BY_PATH) {
            bytes.put(counter.label(), statistics.total(counter));
        }
        long registrations = statistics.total(ShuffleCounter.REGION_REGISTRATIONS);
        System.out.println("bytes by path " + bytes + ", registrations " + registrations + " in "
                + statistics.byExecutor().size() + " processes");
        ShuffleMode wanted = path == null && fabric == ShuffleMode.VERBS ? fabric : path;
        if (wanted != null) {
            long elsewhere = REMOTE.stream()
                    .filter(counter -> !counter.label().equals(wanted.toString()))
                    // Two executors of three share a host.
                    .filter(counter -> !heirs || counter != ShuffleCounter.SHM_BYTES)
                    .mapToLong(statistics::total)
                    .sum();
            check(
                    "every remote byte by " + wanted,
                    bytes.getOrDefault(wanted.toString(), 0L) > 0 && elsewhere == 0,
                    bytes.toString());
        }
        if (wanted == ShuffleMode.VERBS) {
            check(
                    "rows in fetch batches, ahead of tasks",
                    statistics.total(ShuffleCounter.FETCH_BATCHES) > 0 && statistics.total(ShuffleCounter.READS) > 0,
                    statistics.total(ShuffleCounter.FETCH_BATCH_BYTES) + " B in "
                            + statistics.total(ShuffleCounter.FETCH_BATCHES) + " batches; "
                            + statistics.total(ShuffleCounter.READS) + " READs, "
                            + statistics.total(ShuffleCounter.INDEX_READS) + " of them of indexes, with "
                            + statistics.total(ShuffleCounter.DOORBELLS) + " doorbells");
            if (!removal && fabric == ShuffleMode.VERBS) {
                checkLanes(statistics);
            }
            check(
                    removal ? "regions registered again" : "registrations as many as regions",
                    removal ? registrations > 2L * executors : registrations > 0 && registrations <= 4L * executors,
                    registrations + " registrations");
        }
        if (heirs) {
            long pools = statistics.total(ShuffleCounter.POOLS_INHERITED);
            check("an heir serves the killed executor's pool", pools == 1, pools + " pools of ended executors served");
        }
        if (onDisk) {
            long disk = statistics.total(ShuffleCounter.DISK_PEAK_BYTES);
            long memory = statistics.total(ShuffleCounter.POOL_PEAK_BYTES);
            check(
                    "most of the map outputs on disk",
                    disk > memory && statistics.total(ShuffleCounter.MAP_OUTPUTS_ON_DISK) > 0,
                    disk + " bytes at most on disk, " + memory + " in memory");
        }
    }

    /** Each executor that read anything has done so on all of its data threads; one port is used. */
    private void checkLanes(ClusterStatistics statistics) {
        long threads = SparkEnv.get().conf().getInt("spark.shuffle.rdma.fabric.verbs.threads", 1);
        List<Long> lanes = statistics.byExecutor().values().stream()
                .filter(counters -> counters.getOrDefault(ShuffleCounter.VERBS_BYTES, 0L) > 0)
                .map(counters -> counters.getOrDefault(ShuffleCounter.LANES, 0L))
                .toList();
        check(
                "reads on all data threads",
                !lanes.isEmpty() && lanes.stream().allMatch(used -> used == threads),
                lanes + " of " + threads + " in executors that read");
    }

    private void checkLibraries(SparkSession spark) {
        Path folder = libraries;
        if (folder == null) {
            return;
        }
        Map<String, Set<String>> loaded = LoadedLibraries.byExecutor(spark);
        check(
                "libraries of " + folder.getFileName(),
                loaded.size() == executors
                        && loaded.values().stream()
                                .allMatch(files -> files.stream()
                                        .anyMatch(file -> Path.of(file).startsWith(folder))),
                loaded.toString());
    }

    private void check(String what, boolean right, String detail) {
        if (right) {
            passed++;
        } else {
            failures.add(what + ": " + detail);
        }
        System.out.println((right ? "passed " : "FAILED ") + what + ": " + detail);
    }

    private static Properties read(@Nullable Path file) throws IOException {
        Properties properties = new Properties();
        if (file != null) {
            try (var reader = Files.newBufferedReader(file)) {
                properties.load(reader);
            }
        }
        return properties;
    }

    private void write(Map<String, String> results) throws IOException {
        Path file = save;
        if (file != null) {
            Properties properties = new Properties();
            properties.putAll(results);
            try (var writer = Files.newBufferedWriter(file)) {
                properties.store(writer, "results of sort shuffle");
            }
        }
    }
}
