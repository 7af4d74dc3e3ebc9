package io.rdmashuffle.it.demo;

import io.rdmashuffle.it.JavaProcess;
import io.rdmashuffle.it.SparkHome;
import io.rdmashuffle.it.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.launcher.JavaModuleOptions;
import org.jspecify.annotations.Nullable;

/**
 * One of the two applications that the demo compares: its configuration, and a session that is started when it is needed
 * and again after it died.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns its session.
 */
final class Contestant implements AutoCloseable {
    private final String name;
    private final Workspace workspace;
    private final Path data;
    private final Map<String, String> conf;
    private final Duration timeout;
    private @Nullable QuerySession session;

    Contestant(String name, Workspace workspace, Path data, Map<String, String> conf, Duration timeout)
            throws IOException {
        this.name = name;
        this.workspace = workspace;
        this.data = data;
        this.conf = Map.copyOf(conf);
        this.timeout = timeout;
        Files.createDirectories(folder());
        Files.deleteIfExists(log());
    }

    /** What both applications have in common; small enough for two cores, shuffling enough to be of interest. */
    static Map<String, String> commonConf(int executors) {
        Map<String, String> conf = new LinkedHashMap<>();
        conf.put("spark.master", "local-cluster[" + executors + ",1,1024]");
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.sql.shuffle.partitions", "16");
        // At small scales nearly every join would be a broadcast, and a demo of a shuffle would show none.
        conf.put("spark.sql.autoBroadcastJoinThreshold", "256k");
        return conf;
    }

    Path log() {
        return folder().resolve(name + ".log");
    }

    Path resultFile() {
        return folder().resolve(name + "-result.json");
    }

    private Path folder() {
        return workspace.target().resolve("demo");
    }

    QueryReply run(String query, QueryRequest.Operation operation) throws IOException, InterruptedException {
        return ask(new QueryRequest(operation, query, resultFile().toString()));
    }

    QueryReply ask(QueryRequest request) throws IOException, InterruptedException {
        return started().ask(request);
    }

    /** Starts the application unless it runs. */
    QuerySession started() throws IOException, InterruptedException {
        QuerySession current = session;
        if (current == null || !current.isAlive()) {
            close();
            current = new QuerySession(server(), log(), timeout);
            session = current;
        }
        return current;
    }

    private JavaProcess server() {
        JavaProcess server = new JavaProcess(QueryServer.class.getName(), data.toString())
                .spark(SparkHome.of(workspace), JavaModuleOptions.defaultModuleOptionArray())
                .classPath(workspace.testsJar().toString())
                .options("-Xmx2g")
                .options("-Dspark.app.name=demo-" + name)
                .options("-Dspark.sql.warehouse.dir=" + folder().resolve("warehouse-" + name));
        conf.forEach((key, value) -> server.options("-D" + key + "=" + value));
        return server;
    }

    @Override
    public void close() {
        QuerySession current = session;
        session = null;
        if (current != null) {
            current.close();
        }
    }
}
