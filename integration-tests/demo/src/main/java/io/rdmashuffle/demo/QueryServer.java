// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.demo.QueryWork.Faults;
import io.rdmashuffle.harness.ProcessMemory;
import io.rdmashuffle.harness.ProcessorTime;
import io.rdmashuffle.harness.RootCause;
import io.rdmashuffle.harness.spark.ShuffleMeter;
import io.rdmashuffle.harness.spark.SparkCalls;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsSchema;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.status.api.v1.ExecutorSummary;

/**
 * A Spark application that runs queries on request: requests on standard input, replies on standard output, its log on
 * standard error. It ends when standard input does, so it does not outlive the demo.
 *
 * <p>Spark's configuration comes as system properties, the folder of the tables as the only argument.
 *
 * <p><b>Threading:</b> one request at a time.
 */
public final class QueryServer {
    /** Key of the seconds that queries run until an executor is killed; unset or 0 for never. */
    public static final String KILL_SECONDS = "spark.demo.killSeconds";

    private final SparkSession spark;
    private final QueryCatalogue catalogue;
    private final ShuffleMeter meter;
    private final WorkListener work = new WorkListener();
    private final ExecutorKiller killer;
    private QueryWork last = QueryWork.NONE;

    private QueryServer(SparkSession spark, QueryCatalogue catalogue) {
        this.spark = spark;
        this.catalogue = catalogue;
        this.meter = new ShuffleMeter(spark.sparkContext());
        spark.sparkContext().addSparkListener(work);
        List<ExecutorSummary> early = SparkCalls.list(spark.sparkContext().statusStore(), "executorList", true);
        early.stream()
                .filter(executor -> !executor.id().equals("driver"))
                .forEach(executor -> work.executorCame(
                        executor.id(), executor.addTime().toInstant().toEpochMilli()));
        long seconds = spark.sparkContext().getConf().getLong(KILL_SECONDS, 0);
        this.killer = new ExecutorKiller(spark.sparkContext().applicationId(), Duration.ofSeconds(seconds));
    }

    /** Called by {@link QuerySession}. */
    public static void main(String[] args) throws IOException {
        try (SparkSession spark = SparkSession.builder().getOrCreate();
                BufferedReader requests =
                        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            TpcdsSchema.createTables(spark, Path.of(args[0]));
            QueryServer server = new QueryServer(spark, QueryCatalogue.load());
            System.out.println(Protocol.reply(new QueryReply("", 0, 0, 0, 0, Map.of(), QueryWork.NONE, "")));
            try {
                for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                    System.out.println(Protocol.reply(server.serve(Protocol.request(line))));
                }
            } finally {
                server.killer.close();
            }
        }
    }

    @SuppressWarnings("CatchingUnchecked") // Whatever a query throws is the answer to it.
    private QueryReply serve(QueryRequest request) {
        try {
            return switch (request.operation()) {
                case RUN -> run(request, catalogue.text(request.query()));
                case RUN_UNLIMITED -> run(request, FinalLimit.removedFrom(catalogue.text(request.query())));
                case DRAIN -> new QueryReply("", 0, 0, 0, 0, meter.drain(), QueryWork.NONE, "");
            };
        } catch (Exception e) {
            System.err.println("query " + request.query() + " failed");
            e.printStackTrace();
            return QueryReply.failed(request.query(), RootCause.of(e));
        }
    }

    private QueryReply run(QueryRequest request, String text) throws IOException {
        spark.sparkContext().setJobGroup(request.query(), request.query(), true);
        ShuffleMeter.Reading before = meter.read();
        long cpuBefore = ProcessorTime.millisOfExecutors(ProcessHandle.current());
        long started = System.nanoTime();
        killer.begin();
        List<Row> rows;
        try {
            rows = spark.sql(text).collectAsList();
        } finally {
            killer.end();
        }
        long millis = (System.nanoTime() - started) / 1_000_000;
        // Without executors that were killed.
        long cpuMillis = Math.max(0, ProcessorTime.millisOfExecutors(ProcessHandle.current()) - cpuBefore);
        long memory = ProcessMemory.bytesOfExecutors(ProcessHandle.current());
        // Also waits for what Spark has still to tell its listeners.
        ShuffleMeter.Reading used = meter.read().minus(before);
        if (!request.resultFile().isEmpty()) {
            ResultFile.write(Path.of(request.resultFile()), rows);
        }
        return new QueryReply(
                request.query(),
                rows.size(),
                millis,
                cpuMillis,
                used.taskMetricBytes(),
                used.counters(),
                workSinceLast(memory),
                "");
    }

    private QueryWork workSinceLast(long memoryBytes) {
        QueryWork now = work(memoryBytes);
        QueryWork since = now.minus(last);
        last = now;
        return since;
    }

    private QueryWork work(long memoryBytes) {
        return new QueryWork(
                work.reduceTasks(),
                work.writtenBytes(),
                memoryBytes,
                work.executorMillis(System.currentTimeMillis()),
                new Faults(killer.killed(), work.failedReads(), work.mapTasksAgain()));
    }
}
