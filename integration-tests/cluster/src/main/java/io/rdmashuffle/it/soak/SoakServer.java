// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.RootCause;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import io.rdmashuffle.harness.spark.SparkCalls;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.ExecutorDecommissionInfo;
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * A Spark application that runs jobs on request: requests on standard input, replies on standard output, its log on
 * standard error. It ends when standard input does. Spark's configuration comes as system properties.
 *
 * <p><b>Threading:</b> one request at a time.
 */
public final class SoakServer {
    /** Prefix of lines that are replies. */
    static final String PREFIX = "@@soak ";

    private static final ObjectMapper JSON = new ObjectMapper();

    private final SparkSession spark;
    private final ShuffleMeter meter;
    private @Nullable Supplier<List<String>> action;

    private SoakServer(SparkSession spark) {
        this.spark = spark;
        this.meter = new ShuffleMeter(spark.sparkContext());
    }

    /** Called by {@link SoakApplication}. */
    public static void main(String[] args) throws IOException {
        try (SparkSession spark = SparkSession.builder().getOrCreate();
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            SoakServer server = new SoakServer(spark);
            reply(new SoakReply(0, 0, Map.of(), ""));
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                reply(server.serve(JSON.readValue(line, SoakRequest.class)));
            }
        }
    }

    private static void reply(SoakReply reply) throws JsonProcessingException {
        System.out.println(PREFIX + JSON.writeValueAsString(reply));
    }

    @SuppressWarnings("CatchingUnchecked") // Whatever a job throws is the answer to it.
    private SoakReply serve(SoakRequest request) {
        try {
            return switch (request.operation()) {
                case RUN -> {
                    JobSpec job = request.job();
                    if (job == null) {
                        yield SoakReply.failed("RUN without a job");
                    }
                    spark.sparkContext().setJobGroup(job.kind().name(), job.toString(), true);
                    spark.conf().set("spark.sql.shuffle.partitions", (long) job.partitions());
                    action = Jobs.prepare(spark, job);
                    yield run(request);
                }
                case AGAIN -> run(request);
                case DRAIN -> {
                    action = null;
                    yield new SoakReply(0, 0, meter.drain(), "");
                }
                case DECOMMISSION -> decommission();
            };
        } catch (Exception e) {
            e.printStackTrace();
            return SoakReply.failed(RootCause.of(e));
        }
    }

    private SoakReply run(SoakRequest request) throws IOException {
        Supplier<List<String>> prepared = action;
        if (prepared == null) {
            return SoakReply.failed("AGAIN without a job before it");
        }
        long started = System.nanoTime();
        List<String> lines = prepared.get();
        long millis = (System.nanoTime() - started) / 1_000_000;
        Files.write(Path.of(request.resultFile()), lines);
        // A fault may follow.
        meter.note();
        return new SoakReply(lines.size(), millis, Map.of(), "");
    }

    private SoakReply decommission() {
        SparkContext context = spark.sparkContext();
        List<String> executors = SparkCalls.list(context, "getExecutorIds");
        if (executors.size() < 2 || !(context.schedulerBackend() instanceof CoarseGrainedSchedulerBackend backend)) {
            return SoakReply.failed("no executor to spare");
        }
        boolean accepted = backend.decommissionExecutor(
                executors.get(0), new ExecutorDecommissionInfo("soak", Option.empty()), false, false);
        return accepted ? new SoakReply(0, 0, Map.of(), "") : SoakReply.failed("not accepted");
    }
}
