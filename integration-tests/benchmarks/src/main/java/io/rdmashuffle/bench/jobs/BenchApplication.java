// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.jobs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ServerProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * The bench's end of one {@link BenchServer}.
 *
 * <p><b>Threading:</b> one request at a time. <b>Ownership:</b> owns the process and ends it and its executors on
 * close.
 */
public final class BenchApplication implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration START = Duration.ofMinutes(3);

    private final String name;
    private final Path log;
    private final Duration timeout;
    private final ServerProcess process;

    /**
     * Settings of a server.
     *
     * @param name for messages
     * @param conf Spark's configuration
     * @param log takes the driver's standard error
     * @param garbageLogs the folder of the executors' garbage collection logs
     * @param timeout of one job
     */
    public record Setting(
            String name, int executors, Map<String, String> conf, Path log, Path garbageLogs, Duration timeout) {}

    /** Starts the application; throws if it did not. */
    public BenchApplication(Workspace workspace, Setting setting) throws IOException, InterruptedException {
        this.name = setting.name();
        this.log = setting.log();
        this.timeout = setting.timeout();
        JavaProcess server = new JavaProcess(
                        BenchServer.class.getName(),
                        Integer.toString(setting.executors()),
                        setting.garbageLogs().toString())
                .spark(SparkHome.of(workspace), JavaModuleOptions.defaultModuleOptions())
                // RDD jobs are classes of this module.
                .application(workspace, "benchmarks")
                .options("-Xmx1500m");
        setting.conf().forEach((key, value) -> server.options("-D" + key + "=" + value));
        this.process = new ServerProcess(server, log, BenchServer.PREFIX);
        try {
            await(START);
        } catch (IOException e) {
            close();
            throw new IOException("Spark did not start: " + e.getMessage(), e);
        }
    }

    /** Runs and measures a job, then drops its shuffle. */
    public Measurement run(BenchJob job) throws IOException, InterruptedException {
        Measurement measurement = ask(new BenchRequest(job), timeout).measurement();
        if (measurement == null) {
            throw new IOException(name + " answers without a measurement; see " + log);
        }
        if (job.shuffles()) {
            ask(BenchRequest.DRAIN, START);
        }
        return measurement;
    }

    private BenchReply ask(BenchRequest request, Duration limit) throws IOException, InterruptedException {
        process.send(JSON.writeValueAsString(request));
        return await(limit);
    }

    private BenchReply await(Duration limit) throws IOException, InterruptedException {
        ServerProcess.Reply line = process.await(limit);
        if (!line.came()) {
            throw new IOException(name + ": " + line.error() + "; see " + log);
        }
        try {
            BenchReply reply = JSON.readValue(line.line(), BenchReply.class);
            if (!reply.error().isEmpty()) {
                throw new IOException(name + ": " + reply.error() + "; see " + log);
            }
            return reply;
        } catch (JsonProcessingException e) {
            throw new IOException(name + ": not a valid reply: " + e.getOriginalMessage(), e);
        }
    }

    /** Returns whether it accepts requests; not after a timeout or a crash. */
    public boolean isAlive() {
        return process.isAlive();
    }

    @Override
    public void close() {
        List<ProcessHandle> children = process.descendants().toList();
        process.close();
        children.forEach(ProcessHandle::destroyForcibly);
    }
}
