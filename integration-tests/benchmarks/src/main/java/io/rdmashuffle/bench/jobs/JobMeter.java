// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.link.LinkModel;
import io.rdmashuffle.harness.ProcessMemory;
import io.rdmashuffle.harness.ProcessorTime;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Runs and measures jobs in an application of this process.
 *
 * <p><b>Threading:</b> one job at a time.
 */
public final class JobMeter {
    private static final long POLL_MILLIS = 100;

    private final SparkSession spark;
    private final ShuffleMeter counters;
    private final TaskTotalsListener tasks = new TaskTotalsListener();
    private final GarbageLog garbage;

    /**
     * Starts to listen to an application.
     *
     * @param garbage of its executors
     */
    public JobMeter(SparkSession spark, GarbageLog garbage) {
        this.spark = spark;
        this.counters = new ShuffleMeter(spark.sparkContext());
        this.garbage = garbage;
        spark.sparkContext().addSparkListener(tasks);
    }

    /** Spark begins with the first executor; the first job would have all map outputs there. */
    public void awaitExecutors(int executors, Duration timeout) throws IOException, InterruptedException {
        long deadline = System.nanoTime() + timeout.toNanos();
        // The driver's own block manager is one of them.
        while (spark.sparkContext().statusTracker().getExecutorInfos().length - 1 < executors) {
            if (System.nanoTime() > deadline) {
                throw new IOException("not " + executors + " executors within " + timeout.toSeconds() + " s");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** Drops shuffles that nothing uses any more; returns whether all of their memory is free in time. */
    public boolean drain() throws InterruptedException {
        return !ShuffleMeter.isHeld(counters.drain());
    }

    /** Runs and measures a job; its shuffle exists until it is collected as garbage. */
    public Measurement run(BenchJob job) throws IOException {
        spark.sparkContext().setJobGroup(job.kind().name(), job.toString(), true);
        spark.conf().set("spark.sql.shuffle.partitions", (long) job.partitions());
        ProcessHandle driver = ProcessHandle.current();
        // Also waits for what the tasks of earlier jobs have still to tell.
        ShuffleMeter.Reading before = counters.read();
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
        long memory = ProcessMemory.bytesOfExecutors(driver);
        ShuffleMeter.Reading after = counters.read();
        return new Measurement(
                millis,
                executors,
                link,
                driverMillis,
                tasks.totals().minus(tasksBefore),
                memory,
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
}
