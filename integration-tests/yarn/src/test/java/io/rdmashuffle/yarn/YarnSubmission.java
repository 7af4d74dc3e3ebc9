// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import io.rdmashuffle.harness.JavaProcess;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.launcher.JavaModuleOptions;

/**
 * spark-submit to a YARN cluster in client mode, as a user with a Spark installation would: the nodes have Spark's jars
 * and not the plugin's, which comes with {@code --jars}; settings are those of a file in {@code conf}, and more.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param jars Spark with its client of YARN, without the plugin
 * @param folder takes what Spark stages
 */
record YarnSubmission(Workspace workspace, YarnCluster cluster, Path jars, Path folder) {
    private static final String SUBMIT = "org.apache.spark.deploy.SparkSubmit";
    private static final String SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    /** Prepares the jars. */
    static YarnSubmission prepare(Workspace workspace, YarnCluster cluster, Path folder) throws IOException {
        Path jars = Files.createDirectories(folder.resolve("spark-jars"));
        for (Path from : List.of(SparkHome.of(workspace).folder().resolve("jars"), YarnCluster.jars(workspace))) {
            try (Stream<Path> files = Files.list(from)) {
                for (Path jar : files.toList()) {
                    String name = jar.getFileName().toString();
                    if (!name.startsWith("rdma-shuffle-") && !name.startsWith("hadoop-client-minicluster")) {
                        Files.createSymbolicLink(jars.resolve(name), jar.toRealPath());
                    }
                }
            }
        }
        return new YarnSubmission(workspace, cluster, jars, folder);
    }

    /**
     * Makes the process that submits an application and then is its driver.
     *
     * @param conf what wins over the file
     * @param module whose jar has the class
     */
    JavaProcess process(Path confFile, Map<String, String> conf, String module, Class<?> main, String... arguments) {
        List<String> submit = new ArrayList<>(List.of("--master", "yarn", "--deploy-mode", "client"));
        submit.addAll(List.of("--properties-file", confFile.toString()));
        Map<String, String> all = new LinkedHashMap<>();
        all.put("spark.yarn.jars", "local:" + jars + "/*");
        all.put("spark.yarn.stagingDir", folder.resolve("staging").toUri().toString());
        all.put("spark.ui.enabled", "false");
        all.put("spark.yarn.am.memory", "512m");
        all.put("spark.yarn.am.extraJavaOptions", SHORT_LIVED);
        all.put("spark.executor.extraJavaOptions", SHORT_LIVED);
        all.put("spark.sql.warehouse.dir", folder.resolve("warehouse").toString());
        all.putAll(conf);
        all.forEach((key, value) -> submit.addAll(List.of("--conf", key + "=" + value)));
        submit.addAll(List.of("--jars", workspace.pluginJar() + "," + workspace.jar("harness")));
        submit.addAll(List.of("--class", main.getName(), workspace.jar(module).toString()));
        submit.addAll(List.of(arguments));
        SparkHome home = SparkHome.of(workspace);
        return new JavaProcess(SUBMIT, submit.toArray(String[]::new))
                .options("-Xmx1g", "-XX:TieredStopAtLevel=1")
                .moduleOptions(JavaModuleOptions.defaultModuleOptions())
                .environment(home.environment())
                .environment(Map.of("HADOOP_CONF_DIR", cluster.confFolder().toString()))
                .classPath(
                        home.folder().resolve("conf").toString(),
                        cluster.confFolder().toString(),
                        jars + "/*");
    }
}
