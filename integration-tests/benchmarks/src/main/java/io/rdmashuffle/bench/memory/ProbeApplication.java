// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.ServerProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.spark.launcher.JavaModuleOptions;
import org.jspecify.annotations.Nullable;

/**
 * The bench's end of one {@link ProbeServer}, which is started anew if it has died.
 *
 * <p><b>Threading:</b> one request at a time. <b>Ownership:</b> owns the process and ends it and its executors on
 * close.
 */
final class ProbeApplication implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration START = Duration.ofMinutes(1);
    /** For the end of an application, beyond the limit of its job. */
    private static final Duration STOP = Duration.ofMinutes(1);

    private final Workspace workspace;
    private final Path log;
    private @Nullable ServerProcess process;

    /**
     * Starts nothing yet.
     *
     * @param log takes the driver's standard error
     */
    ProbeApplication(Workspace workspace, Path log) {
        this.workspace = workspace;
        this.log = log;
    }

    /** Runs a job in an application of its own. */
    ProbeReply run(ProbeRequest request) throws IOException, InterruptedException {
        ServerProcess server = started();
        server.send(JSON.writeValueAsString(request));
        ServerProcess.Reply reply =
                server.await(Duration.ofSeconds(request.limitSeconds()).plus(STOP));
        if (!reply.came()) {
            close();
            throw new IOException(reply.error() + "; see " + log);
        }
        return JSON.readValue(reply.line(), ProbeReply.class);
    }

    private ServerProcess started() throws IOException, InterruptedException {
        ServerProcess running = process;
        if (running != null && running.isAlive()) {
            return running;
        }
        JavaProcess server = new JavaProcess(ProbeServer.class.getName())
                .spark(SparkHome.of(workspace), JavaModuleOptions.defaultModuleOptions())
                .application(workspace, "benchmarks")
                .options("-Xmx1g");
        ServerProcess fresh = new ServerProcess(server, log, ProbeServer.PREFIX);
        process = fresh;
        ServerProcess.Reply ready = fresh.await(START);
        if (!ready.came()) {
            close();
            throw new IOException("a Spark driver did not start: " + ready.error() + "; see " + log);
        }
        return fresh;
    }

    @Override
    public void close() {
        ServerProcess running = process;
        process = null;
        if (running != null) {
            List<ProcessHandle> children = running.descendants().toList();
            running.close();
            children.forEach(ProcessHandle::destroyForcibly);
        }
    }
}
