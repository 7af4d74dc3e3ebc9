// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.RootCause;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.sql.SparkSession;

/**
 * A Spark driver that starts an application for each request, runs one job in it, and stops it: requests on standard
 * input, replies on standard output, its log on standard error. It ends when standard input does.
 *
 * <p><b>Threading:</b> one request at a time; a thread of its own ends what takes too long.
 */
public final class ProbeServer {
    /** Prefix of lines that are replies. */
    static final String PREFIX = "@@memory ";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
    private static final long POLL_MILLIS = 50;
    private static final long STOP_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "probe-limit");
        thread.setDaemon(true);
        return thread;
    });
    private volatile boolean overdue;

    private ProbeServer() {}

    /** Called by {@link ProbeApplication}. */
    public static void main(String[] args) throws IOException {
        ProbeServer server = new ProbeServer();
        try (BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            reply(ProbeReply.READY);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                reply(server.probe(JSON.readValue(line, ProbeRequest.class)));
            }
        }
    }

    private static void reply(ProbeReply reply) throws JsonProcessingException {
        System.out.println(PREFIX + JSON.writeValueAsString(reply));
    }

    @SuppressWarnings("CatchingUnchecked") // Whatever a job throws is the answer to it.
    private ProbeReply probe(ProbeRequest request) {
        long started = System.nanoTime();
        overdue = false;
        String failure = "";
        SparkConf conf = new SparkConf(false);
        request.conf().forEach(conf::set);
        SparkSession spark = SparkSession.builder().config(conf).getOrCreate();
        ScheduledFuture<?> limit =
                clock.schedule(() -> end(spark.sparkContext()), request.limitSeconds(), TimeUnit.SECONDS);
        try {
            awaitExecutor(spark.sparkContext());
            new MemoryJobs(spark, request.rows()).run(request.job());
        } catch (Exception e) {
            failure = overdue ? "not done after " + request.limitSeconds() + " s" : RootCause.of(e);
            // An executor that collects garbage all the time would take long to leave.
            killExecutors();
        } finally {
            limit.cancel(false);
            stop(spark);
        }
        return new ProbeReply(failure.isEmpty(), TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started), failure);
    }

    /** Leaves no executor, which would still remove its files, and no application that another thread stops. */
    private static void stop(SparkSession spark) {
        spark.stop();
        SparkSession.clearActiveSession();
        SparkSession.clearDefaultSession();
        long deadline = System.nanoTime() + STOP_NANOS;
        while (SparkContext$.MODULE$.getActive().isDefined()
                || executors().findAny().isPresent()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("Spark does not stop an application");
            }
            if (System.nanoTime() > deadline - STOP_NANOS / 2) {
                killExecutors();
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
        }
    }

    private void awaitExecutor(SparkContext context) throws IOException, InterruptedException {
        // The driver's own block manager is one of them.
        while (context.statusTracker().getExecutorInfos().length < 2) {
            if (overdue || context.isStopped()) {
                throw new IOException("no executor has started");
            }
            Thread.sleep(POLL_MILLIS);
        }
    }

    private void end(SparkContext context) {
        overdue = true;
        context.cancelAllJobs();
        killExecutors();
    }

    private static void killExecutors() {
        executors().forEach(ProcessHandle::destroyForcibly);
    }

    private static Stream<ProcessHandle> executors() {
        return ProcessHandle.current()
                .descendants()
                .filter(process -> process.info().commandLine().orElse("").contains(EXECUTOR));
    }
}
