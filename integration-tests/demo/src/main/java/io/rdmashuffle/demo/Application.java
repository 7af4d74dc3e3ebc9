// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.launcher.JavaModuleOptions;
import org.jspecify.annotations.Nullable;

/**
 * One of the applications that are compared: how its {@link QueryServer} is started, and a session that is started
 * when it is needed and again after it died.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns its session.
 */
public final class Application implements AutoCloseable {
    private static final String DRIVER_OPTIONS = "spark.driver.extraJavaOptions";

    /** Otherwise queries of a few seconds are mostly JIT compilation, which competes for the cores. */
    private static final String FIRST_COMPILER = "-XX:TieredStopAtLevel=1";

    private final String name;
    private final Setting setting;
    private final Supplier<JavaProcess> server;
    private @Nullable QuerySession session;

    /**
     * Prepares an application whose driver is started as it is.
     *
     * @param name of its files and of the application
     * @param conf Spark's configuration
     */
    public Application(String name, Setting setting, Map<String, String> conf) {
        this(name, setting, () -> driver(name, setting, conf));
    }

    /**
     * Prepares an application that something else submits.
     *
     * @param name of its files
     * @param server makes the process that runs a {@link QueryServer} on its own standard input and output
     */
    public Application(String name, Setting setting, Supplier<JavaProcess> server) {
        this.name = name;
        this.setting = setting;
        this.server = server;
    }

    /**
     * Settings that the applications share.
     *
     * @param data the folder of tables
     * @param folder takes logs and results
     * @param timeout of one query
     */
    public record Setting(Workspace workspace, Path data, Path folder, Duration timeout) {}

    /** Common settings: small enough for two cores, with enough to shuffle. */
    public static Map<String, String> commonConf(int executors, boolean fullJit) {
        Map<String, String> conf = new LinkedHashMap<>();
        if (!fullJit) {
            conf.put(DRIVER_OPTIONS, FIRST_COMPILER);
            conf.put("spark.executor.extraJavaOptions", FIRST_COMPILER);
        }
        conf.put("spark.master", "local-cluster[" + executors + ",1,1024]");
        conf.put("spark.ui.enabled", "false");
        conf.put("spark.sql.shuffle.partitions", "16");
        // At small scales nearly every join would be a broadcast, and a demo of a shuffle would show none.
        conf.put("spark.sql.autoBroadcastJoinThreshold", "256k");
        return conf;
    }

    Path log() {
        return setting.folder().resolve(name + ".log");
    }

    Path resultFile() {
        return setting.folder().resolve(name + "-result.json");
    }

    /** Runs a query, whose rows are then in the application's result file; whatever goes wrong is in the reply. */
    public QueryReply run(String query) throws IOException, InterruptedException {
        return run(query, QueryRequest.Operation.RUN);
    }

    /** Drops the shuffles of all previous queries. */
    public QueryReply dropShuffles() throws IOException, InterruptedException {
        return ask(new QueryRequest(QueryRequest.Operation.DRAIN, "", ""));
    }

    /** Returns whether it has been started and lives; if not, the next question starts it. */
    public boolean isRunning() {
        QuerySession current = session;
        return current != null && current.isAlive();
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
            current = new QuerySession(server.get(), log(), setting.timeout());
            session = current;
        }
        return current;
    }

    private static JavaProcess driver(String name, Setting setting, Map<String, String> conf) {
        JavaProcess server = new JavaProcess(
                        QueryServer.class.getName(), setting.data().toString())
                .spark(SparkHome.of(setting.workspace()), JavaModuleOptions.defaultModuleOptions())
                .application(setting.workspace(), "demo")
                .options("-Xmx2g")
                .options("-Dspark.app.name=demo-" + name)
                .options("-Dspark.sql.warehouse.dir=" + setting.folder().resolve("warehouse-" + name));
        // What spark-submit does in client mode; the key alone is too late for a driver that runs.
        for (String option : conf.getOrDefault(DRIVER_OPTIONS, "").split(" ", -1)) {
            if (!option.isBlank()) {
                server.options(option);
            }
        }
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
