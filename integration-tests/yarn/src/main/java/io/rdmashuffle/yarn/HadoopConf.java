// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A folder that {@code HADOOP_CONF_DIR} names: one ResourceManager and one NodeManager on loopback, with memory and
 * processors of a node that is larger than this machine may be.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param folder takes the files
 * @param webAddress where the ResourceManager answers by HTTP
 */
record HadoopConf(Path folder, String webAddress) {
    private static final String LOOPBACK = "127.0.0.1";

    /**
     * Writes the files.
     *
     * @param work takes what containers have and log
     * @param nodeManager keys of yarn-site.xml, which win
     */
    static HadoopConf write(Path folder, Path work, Map<String, String> nodeManager) throws IOException {
        Files.createDirectories(folder);
        Map<String, String> yarn = new LinkedHashMap<>();
        yarn.put("yarn.resourcemanager.hostname", LOOPBACK);
        for (String service : new String[] {"", "scheduler.", "resource-tracker.", "admin.", "webapp."}) {
            yarn.put("yarn.resourcemanager." + service + "address", freeAddress());
        }
        yarn.put("yarn.nodemanager.hostname", LOOPBACK);
        for (String service : new String[] {"", "localizer.", "collector-service.", "webapp."}) {
            yarn.put("yarn.nodemanager." + service + "address", LOOPBACK + ":0");
        }
        yarn.put("yarn.nodemanager.local-dirs", work.resolve("local").toString());
        yarn.put("yarn.nodemanager.log-dirs", work.resolve("containers").toString());
        yarn.put("yarn.nodemanager.resource.memory-mb", "10240");
        yarn.put("yarn.nodemanager.resource.cpu-vcores", "16");
        yarn.put("yarn.scheduler.minimum-allocation-mb", "128");
        yarn.put("yarn.nodemanager.container-monitor.interval-ms", "1000");
        // Refuses disks that are nearly full, and this one is not its own.
        yarn.put("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99");
        yarn.putAll(nodeManager);
        write(folder.resolve("yarn-site.xml"), yarn);
        write(
                folder.resolve("core-site.xml"),
                Map.of(
                        "fs.defaultFS",
                        "file:///",
                        "hadoop.tmp.dir",
                        work.resolve("tmp").toString()));
        write(
                folder.resolve("capacity-scheduler.xml"),
                Map.of(
                        "yarn.scheduler.capacity.root.queues", "default",
                        "yarn.scheduler.capacity.root.default.capacity", "100",
                        "yarn.scheduler.capacity.maximum-am-resource-percent", "0.5"));
        try (InputStream logging = HadoopConf.class.getResourceAsStream("log4j2-daemons.properties")) {
            Files.write(
                    Files.createDirectories(folder.resolve("daemons")).resolve("log4j2.properties"),
                    Objects.requireNonNull(logging).readAllBytes());
        }
        return new HadoopConf(
                folder, Objects.requireNonNull(yarn.get("yarn.resourcemanager.webapp.address"), "of the web page"));
    }

    /** Returns the folder that only daemons have on their class path: applications log in their own way. */
    Path daemonLogging() {
        return folder.resolve("daemons");
    }

    private static String freeAddress() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return LOOPBACK + ":" + free.getLocalPort();
        }
    }

    private static void write(Path file, Map<String, String> keys) throws IOException {
        StringBuilder xml = new StringBuilder("<configuration>\n");
        keys.forEach((key, value) -> xml.append("  <property><name>")
                .append(key)
                .append("</name><value>")
                .append(value)
                .append("</value></property>\n"));
        Files.writeString(file, xml.append("</configuration>\n"));
    }
}
