// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.harness.RootCause;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.SparkSession;

/**
 * A Spark application that runs and measures jobs on request: requests on standard input, replies on standard output,
 * its log on standard error. It ends when standard input does. Spark's configuration comes as system properties; the
 * arguments are the number of executors and the folder of their garbage collection logs.
 *
 * <p><b>Threading:</b> one request at a time.
 */
public final class BenchServer {
    /** Prefix of lines that are replies. */
    static final String PREFIX = "@@bench ";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long POLL_MILLIS = 100;

    private final SparkSession spark;
    private final JobMeter meter;

    private BenchServer(SparkSession spark, Path garbageLogs) {
        this.spark = spark;
        this.meter = new JobMeter(spark, new GarbageLog(garbageLogs));
    }

    /** Called by {@link BenchApplication}. */
    public static void main(String[] args) throws IOException, InterruptedException {
        try (SparkSession spark = SparkSession.builder().getOrCreate();
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            BenchServer server = new BenchServer(spark, Path.of(args[1]));
            server.meter.awaitExecutors(Integer.parseInt(args[0]), Duration.ofSeconds(60));
            reply(BenchReply.DONE);
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                reply(server.serve(JSON.readValue(line, BenchRequest.class)));
            }
        }
    }

    private static void reply(BenchReply reply) throws JsonProcessingException {
        System.out.println(PREFIX + JSON.writeValueAsString(reply));
    }

    @SuppressWarnings("CatchingUnchecked") // Whatever a job throws is the answer to it.
    private BenchReply serve(BenchRequest request) {
        try {
            BenchJob job = request.job();
            return job == null ? drain() : new BenchReply(meter.run(job), "");
        } catch (Exception e) {
            e.printStackTrace();
            return BenchReply.failed(RootCause.of(e));
        }
    }

    /** Returns when pools are empty and files of shuffles gone, so that their removal is not in anybody's time. */
    private BenchReply drain() throws IOException, InterruptedException {
        if (!meter.drain()) {
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
