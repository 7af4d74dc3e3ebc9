package io.rdmashuffle.it;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.sql.SparkSession;
import scala.Option;

/**
 * A Spark application on a local cluster of its own, for one test: one core and 1 GB an executor, the plugin's jar where a
 * user would have it, the test's classes reachable from executors.
 *
 * <p>Runs under failsafe, which sets {@code SPARK_HOME} and the options of the virtual machine.
 *
 * <p><b>Threading:</b> one at a time in a virtual machine. <b>Ownership:</b> closing stops the application.
 */
public final class SparkCluster implements AutoCloseable {
    private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
    private static final long START_SECONDS = 60;
    private static final long POLL_MILLIS = 50;

    private final SparkSession spark;

    private SparkCluster(SparkSession spark) {
        this.spark = spark;
    }

    /** Starts an application with this shuffle and waits until all executors are there; more configuration wins. */
    public static SparkCluster start(int executors, FabricMode fabric, Map<String, String> more) {
        Workspace workspace = Workspace.find();
        Path home = SparkHome.of(workspace).folder();
        if (!home.toString().equals(System.getenv("SPARK_HOME"))) {
            throw new IllegalStateException("SPARK_HOME is not " + home + "; run this test with: mvn verify");
        }
        Map<String, String> conf = new LinkedHashMap<>();
        conf.put("spark.master", "local-cluster[" + executors + ",1,1024]");
        conf.put("spark.app.name", "test");
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.sql.shuffle.partitions", "8");
        conf.put(
                "spark.sql.warehouse.dir",
                temporary(workspace).resolve("warehouse").toString());
        conf.put(
                "spark.executor.extraClassPath",
                workspace.target().resolve("test-classes")
                        + File.pathSeparator
                        + workspace.target().resolve("classes"));
        conf.putAll(fabric.conf());
        conf.putAll(more);
        SparkConf sparkConf = new SparkConf(false);
        conf.forEach(sparkConf::set);
        SparkCluster cluster =
                new SparkCluster(SparkSession.builder().config(sparkConf).getOrCreate());
        cluster.awaitExecutors(executors);
        return cluster;
    }

    private static Path temporary(Workspace workspace) {
        try {
            return Files.createDirectories(workspace.target().resolve("it"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until this many executors have registered, which a local cluster's default does not. */
    public void awaitExecutors(int executors) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        // The driver's own block manager is one of them.
        while (spark.sparkContext().statusTracker().getExecutorInfos().length - 1 < executors) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("not " + executors + " executors after " + START_SECONDS + " s; see "
                        + SparkHome.of(Workspace.find()).executorLogs());
            }
            try {
                Thread.sleep(POLL_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted while executors started", e);
            }
        }
    }

    /** Returns the session; the fixture closes it. */
    public SparkSession spark() {
        return spark;
    }

    /** Returns the session's context. */
    public SparkContext context() {
        return spark.sparkContext();
    }

    /** Returns the processes of the executors that live now, for tests that kill one. */
    public List<ProcessHandle> executorProcesses() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(EXECUTOR))
                .toList();
    }

    /** Returns the process of an executor by Spark's name for it. */
    public ProcessHandle executorProcess(String executorId) {
        return executorProcesses().stream()
                .filter(process ->
                        process.info().commandLine().orElse("").contains(" --executor-id " + executorId + " "))
                .findAny()
                .orElseThrow(() -> new IllegalStateException("no executor " + executorId));
    }

    /** Tells an executor to hand over what it has and to go. */
    public void decommission(String executorId) {
        CoarseGrainedSchedulerBackend backend =
                (CoarseGrainedSchedulerBackend) context().schedulerBackend();
        if (!backend.decommissionExecutor(
                executorId, new ExecutorDecommissionInfo("test", Option.empty()), false, false)) {
            throw new IllegalStateException("executor " + executorId + " cannot be decommissioned");
        }
    }

    /** Stops the application; a second call does nothing. */
    @Override
    public void close() {
        spark.stop();
        SparkSession.clearActiveSession();
        SparkSession.clearDefaultSession();
    }
}
