// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

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
 * The soak's end of one {@link SoakServer}: a Spark application that can be asked, and whose executors can be found.
 *
 * <p><b>Threading:</b> one request at a time; {@link #executors()} is for any thread. <b>Ownership:</b> owns the
 * process and ends it and its executors on close.
 */
final class SoakApplication implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend";
    private static final Duration START = Duration.ofMinutes(3);

    private final ServerProcess process;
    private final Path log;

    /**
     * Starts the application.
     *
     * @param log takes the driver's standard error
     * @throws IOException if it did not start
     */
    SoakApplication(Workspace workspace, Map<String, String> conf, Path log) throws IOException, InterruptedException {
        this.log = log;
        JavaProcess server = new JavaProcess(SoakServer.class.getName())
                .spark(SparkHome.of(workspace), JavaModuleOptions.defaultModuleOptions())
                .application(workspace, "cluster")
                .options("-Xmx1g", "-XX:TieredStopAtLevel=1");
        conf.forEach((key, value) -> server.options("-D" + key + "=" + value));
        this.process = new ServerProcess(server, log, SoakServer.PREFIX);
        SoakReply ready = await(START);
        if (!ready.ok()) {
            close();
            throw new IOException("Spark did not start: " + ready.error() + "; see " + log);
        }
    }

    /** Asks and waits; whatever goes wrong is in the reply. */
    SoakReply ask(SoakRequest request, Duration timeout) throws InterruptedException {
        try {
            process.send(JSON.writeValueAsString(request));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("cannot write " + request, e);
        }
        return await(timeout);
    }

    private SoakReply await(Duration timeout) throws InterruptedException {
        ServerProcess.Reply reply = process.await(timeout);
        if (!reply.came()) {
            return SoakReply.failed(reply.error() + "; see " + log);
        }
        try {
            return JSON.readValue(reply.line(), SoakReply.class);
        } catch (JsonProcessingException e) {
            return SoakReply.failed("not a valid reply: " + e.getOriginalMessage());
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** Returns the executors that live now. */
    List<ProcessHandle> executors() {
        return process.descendants()
                .filter(child -> child.info().commandLine().orElse("").contains(EXECUTOR))
                .toList();
    }

    /** Ends the application and its child processes. */
    @Override
    public void close() {
        List<ProcessHandle> children = process.descendants().toList();
        process.close();
        children.forEach(ProcessHandle::destroyForcibly);
    }
}
