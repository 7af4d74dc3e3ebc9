// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.link.lines;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * {@code io.rdmashuffle.it.lines.SmallJobs} in a separate JVM, with the released jar.
 *
 * <p><b>Threading:</b> one thread.
 *
 * @param exitCode 0 if all results are right
 * @param output standard output and errors, a line each
 */
record SmallApplication(int exitCode, List<String> output) {
    private static final long TIMEOUT_SECONDS = 240;

    /** What Spark's own scripts pass to a Java 17 and newer ones, without what newer ones deny. */
    private static final List<String> OPENED = Stream.of(
                    "java.lang",
                    "java.lang.invoke",
                    "java.lang.reflect",
                    "java.io",
                    "java.net",
                    "java.nio",
                    "java.util",
                    "java.util.concurrent",
                    "java.util.concurrent.atomic",
                    "sun.nio.ch",
                    "sun.nio.cs",
                    "sun.security.action",
                    "sun.util.calendar")
            .map(name -> "--add-opens=java.base/" + name + "=ALL-UNNAMED")
            .toList();

    /**
     * Runs it to its end.
     *
     * @param java home of the JDK
     * @param options JVM options, {@code -Dspark...} included
     * @param first folders of classes that come before Spark's jars
     */
    static SmallApplication run(Path java, SparkJars line, Path folder, List<String> options, Path... first)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(java.resolve("bin/java").toString(), "-Xmx768m"));
        command.addAll(OPENED);
        command.addAll(List.of(
                "-Dspark.master=local[2]",
                "-Dspark.app.name=small",
                "-Dspark.ui.enabled=false",
                "-Dspark.driver.host=127.0.0.1",
                "-Dspark.sql.shuffle.partitions=4",
                "-Dspark.local.dir=" + folder,
                "-Dspark.sql.warehouse.dir=" + folder.resolve("warehouse"),
                "-Dspark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager",
                "-Dspark.shuffle.rdma.pool.maxSize=64m",
                "-Dspark.shuffle.rdma.pool.initialSize=16m",
                "-Dspark.shuffle.rdma.pool.regionSize=16m"));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath(line, first), "io.rdmashuffle.it.lines.SmallJobs"));
        Path log = folder.resolve("small.log");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().put("SPARK_LOCAL_IP", "127.0.0.1");
        builder.environment().remove("SPARK_HOME");
        Process process = builder.start();
        try {
            if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("it did not end within " + TIMEOUT_SECONDS + " s: " + Files.readString(log));
            }
        } finally {
            process.destroyForcibly();
        }
        return new SmallApplication(process.exitValue(), Files.readAllLines(log, StandardCharsets.UTF_8));
    }

    private static String classPath(SparkJars line, Path... first) throws IOException {
        List<Path> all = new ArrayList<>(List.of(first));
        all.add(SparkJars.ROOT.resolve("integration-tests/cluster/target/classes"));
        try (Stream<Path> built = Files.list(SparkJars.ROOT.resolve("plugin/target"))) {
            built.filter(file ->
                            file.getFileName().toString().matches("rdma-shuffle-spark-.*(?<!-sources|-javadoc)\\.jar"))
                    .forEach(all::add);
        }
        // Spark's tests register services that Spark would load.
        line.jars().stream()
                .filter(jar -> !jar.toString().endsWith("-tests.jar"))
                .forEach(all::add);
        return all.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }

    /** Returns the warnings of this project's classes, and of no other. */
    List<String> warnings() {
        return output.stream()
                .filter(line -> line.matches(
                        ".* WARN (RdmaShuffleManager|ExecutorMemory|FabricChoice|NativeAccess|ArrayCopy):.*"))
                .toList();
    }

    /** Returns how many map outputs the pool took. */
    long pooled() {
        return output.stream()
                .filter(line -> line.startsWith("all right, map outputs in the pool: "))
                .mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1)))
                .findFirst()
                .orElseThrow(() -> new AssertionError(String.join("\n", output)));
    }
}
