// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.link.LinkModel;
import io.rdmashuffle.harness.ProcessorTime;
import io.rdmashuffle.harness.RootCause;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * A Spark application that runs and measures jobs on request: requests on standard input, replies on standard output,
 * its log on standard error. It ends when standard input does. Spark's configuration comes as system properties; the
 * arguments are the number of executors and the folder of their garbage collection logs.
 *
 * <p><b>Threading:</b> one request at a time.
 */
public final class BenchServer {
    /** What a line begins with that is a reply. */
    static final String PREFIX = "@@bench ";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long POLL_MILLIS = 100;

    private final SparkSession spark;
    private final ShuffleMeter meter;
    private final TaskTotalsListener tasks = new TaskTotalsListener();
    private final GarbageLog garbage;

    private BenchServer(SparkSession spark, Path garbageLogs) {
        this.spark = spark;
        this.meter = new ShuffleMeter(spark.sparkContext());
        this.garbage = new GarbageLog(garbageLogs);
        spark.sparkContext().addSparkListener(tasks);
    }

    /** Called by {@link BenchApplication}. */
    public static void main(String[] args) throws IOException, InterruptedException {
        try (SparkSession spark = SparkSession.builder().getOrCreate();
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            awaitExecutors(spark.sparkContext(), Integer.parseInt(args[0]));
            BenchServer server = new BenchServer(spark, Path.of(args[1]));
            reply(BenchReply.DONE);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                reply(server.serve(JSON.readValue(line, BenchRequest.class)));
            }
        }
    }

    /** Spark begins with the first executor; the first job would have all map outputs there. */
    private static void awaitExecutors(SparkContext context, int executors) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + WAIT_NANOS;
        // The driver's own block manager is one of them.
        while (context.statusTracker().getExecutorInfos().length - 1 < executors) {
            if (System.nanoTime() > deadline) {
                throw new IOException("not " + executors + " executors within 60 s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    private static void reply(BenchReply reply) throws JsonProcessingException {
        System.out.println(PREFIX + JSON.writeValueAsString(reply));
    }

    @SuppressWarnings("CatchingUnchecked") // Whatever a job throws is the answer to it.
    private BenchReply serve(BenchRequest request) {
        try {
            BenchJob job = request.job();
            return job == null ? drain() : new BenchReply(run(job), "");
        } catch (Exception e) {
            e.printStackTrace();
            return BenchReply.failed(RootCause.of(e));
        }
    }

    private Measurement run(BenchJob job) throws IOException {
        spark.sparkContext().setJobGroup(job.kind().name(), job.toString(), true);
        spark.conf().set("spark.sql.shuffle.partitions", (long) job.partitions());
        ProcessHandle driver = ProcessHandle.current();
        // Also waits for what the tasks of earlier jobs have still to tell.
        ShuffleMeter.Reading before = meter.read();
        TaskTotals tasksBefore = tasks.totals();
        long garbageBefore = garbage.bytes();
        long driverBefore = ProcessorTime.millis(driver);
        long executorsBefore = ProcessorTime.millisOfExecutors(driver);
        long linkBefore = ProcessorTime.millisOfExecutors(driver, LinkModel.THREAD);
        long started = System.nanoTime();
        long checksum = act(job);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started);
        long executors = ProcessorTime.millisOfExecutors(driver) - executorsBefore;
        long link = ProcessorTime.millisOfExecutors(driver, LinkModel.THREAD) - linkBefore;
        long driverMillis = ProcessorTime.millis(driver) - driverBefore;
        ShuffleMeter.Reading after = meter.read();
        return new Measurement(
                millis,
                executors,
                link,
                driverMillis,
                tasks.totals().minus(tasksBefore),
                garbage.bytes() - garbageBefore,
                checksum,
                after.counters(),
                after.minus(before).counters());
    }

    private long act(BenchJob job) {
        return switch (job.kind()) {
            case REPARTITION, SKEW, GROUP_BY, JOIN -> {
                new SqlJobs(spark, job).run();
                yield 0;
            }
            case TERASORT, REDUCE_BY_KEY ->
                new RddJobs(JavaSparkContext.fromSparkContext(spark.sparkContext()), job).run();
        };
    }

    /** Returns when pools are empty and files of shuffles gone, so that their removal is not in anybody's time. */
    private BenchReply drain() throws IOException, InterruptedException {
        if (ShuffleMeter.isHeld(meter.drain())) {
            return BenchReply.failed("the pool is not empty after the shuffles were dropped");
        }
        Path local = Path.of(spark.sparkContext().getConf().get("spark.local.dir"));
        long deadline = System.nanoTime() + WAIT_NANOS;
        while (ShuffleFiles.count(local) > 0) {
            if (System.nanoTime() > deadline) {
                return BenchReply.failed(
                        ShuffleFiles.count(local) + " shuffle files left after the shuffles were dropped");
            }
            System.gc();
            Thread.sleep(POLL_MILLIS);
        }
        return BenchReply.DONE;
    }
}
