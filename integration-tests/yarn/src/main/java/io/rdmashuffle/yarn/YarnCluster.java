// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A ResourceManager and a NodeManager, each a process as on a cluster, with containers that are processes too.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing ends the daemons and every container.
 */
public final class YarnCluster implements AutoCloseable {
    private static final String DAEMONS = "org.apache.hadoop.yarn.server.";
    private static final String EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend";
    private static final Duration START_TIMEOUT = Duration.ofMinutes(3);
    private static final long STOP_SECONDS = 20;
    private static final long POLL_MILLIS = 200;

    private final Path folder;
    private final HadoopConf conf;
    private final List<Process> daemons = new CopyOnWriteArrayList<>();
    /** A test that is ended must not leave a cluster behind. */
    private final Thread endOfParent = new Thread(this::destroy, "destroy-yarn");

    private YarnCluster(Path folder, HadoopConf conf) {
        this.folder = folder;
        this.conf = conf;
    }

    /**
     * Starts both and waits until the node can be given containers.
     *
     * @param folder takes configuration, logs and containers
     * @param nodeManager keys of yarn-site.xml, which win
     */
    static YarnCluster start(Workspace workspace, Path folder, Map<String, String> nodeManager)
            throws IOException, InterruptedException {
        Files.createDirectories(folder);
        YarnCluster cluster = new YarnCluster(folder, HadoopConf.write(folder.resolve("conf"), folder, nodeManager));
        Runtime.getRuntime().addShutdownHook(cluster.endOfParent);
        try {
            cluster.startDaemon(workspace, "resourcemanager.ResourceManager", "resourcemanager.log");
            cluster.startDaemon(workspace, "nodemanager.NodeManager", "nodemanager.log");
            cluster.awaitNode();
            return cluster;
        } catch (IOException | InterruptedException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    /**
     * Runs a cluster for a script: prints {@code HADOOP_CONF_DIR=} and its folder once there is a node, and ends the
     * cluster when standard input ends.
     *
     * @param arguments the folder that takes configuration, logs and containers
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        try (YarnCluster cluster = start(Workspace.find(), Path.of(arguments[0]), Map.of())) {
            System.out.println("HADOOP_CONF_DIR=" + cluster.confFolder());
            System.in.transferTo(OutputStream.nullOutputStream());
        }
    }

    private void startDaemon(Workspace workspace, String daemon, String log) throws IOException {
        SparkHome home = SparkHome.of(workspace);
        daemons.add(new JavaProcess(DAEMONS + daemon)
                .options("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                // Containers find their Java by it.
                .environment(Map.of("JAVA_HOME", System.getProperty("java.home")))
                .classPath(conf.daemonLogging().toString(), conf.folder().toString())
                .classPath(
                        jars(workspace) + "/*",
                        home.folder() + "/jars/*",
                        workspace.jar("yarn").toString())
                .builder()
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(log).toFile())
                .start());
    }

    private void awaitNode() throws IOException, InterruptedException {
        HttpClient client =
                HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
        HttpRequest nodes = HttpRequest.newBuilder(
                        URI.create("http://" + conf.webAddress() + "/ws/v1/cluster/nodes?states=RUNNING"))
                .timeout(Duration.ofSeconds(5))
                .build();
        long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
        String answer = "";
        do {
            if (!daemons.stream().allMatch(Process::isAlive)) {
                throw new IOException("a daemon of YARN did not start; see " + folder);
            }
            Thread.sleep(POLL_MILLIS);
            try {
                answer =
                        client.send(nodes, HttpResponse.BodyHandlers.ofString()).body();
            } catch (IOException e) {
                answer = e.toString();
            }
        } while (!answer.contains("\"state\":\"RUNNING\"") && System.nanoTime() - deadline < 0);
        if (System.nanoTime() - deadline >= 0) {
            throw new IOException("no node within " + START_TIMEOUT.toSeconds() + " s (" + answer + "); see " + folder);
        }
    }

    /** Returns the folder that clients name in {@code HADOOP_CONF_DIR}. */
    Path confFolder() {
        return conf.folder();
    }

    /** Returns the file that the NodeManager logs to. */
    Path nodeManagerLog() {
        return folder.resolve("nodemanager.log");
    }

    /** Returns the folder of the jars of the daemons and of Spark's client, which {@code bin/lib/yarn.sh} fetches. */
    static Path jars(Workspace workspace) {
        return workspace
                .target("yarn")
                .resolve("yarn-jars-" + SparkHome.of(workspace).line());
    }

    /** Returns the JVMs of running executors, not their shells. */
    List<ProcessHandle> executors() {
        return containers()
                .filter(process -> process.info().command().orElse("").endsWith("/java")
                        && process.info().commandLine().orElse("").contains(EXECUTOR))
                .toList();
    }

    private Stream<ProcessHandle> containers() {
        return daemons.stream().flatMap(Process::descendants);
    }

    private void destroy() {
        List<ProcessHandle> containers = containers().toList();
        daemons.forEach(Process::destroyForcibly);
        containers.forEach(ProcessHandle::destroyForcibly);
    }

    @Override
    public void close() {
        List<ProcessHandle> containers = containers().toList();
        try {
            // The NodeManager first: it tells its ResourceManager, and ends its containers.
            for (int i = daemons.size() - 1; i >= 0; i--) {
                daemons.get(i).destroy();
                boolean unused = daemons.get(i).waitFor(STOP_SECONDS, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            destroy();
            containers.forEach(ProcessHandle::destroyForcibly);
            Runtime.getRuntime().removeShutdownHook(endOfParent);
        }
    }
}
