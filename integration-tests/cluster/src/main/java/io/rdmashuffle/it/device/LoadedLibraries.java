// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.device;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/**
 * Which files of rdma-core executors have loaded, as /proc/self/maps of each says.
 *
 * <p><b>Threading:</b> stateless.
 */
final class LoadedLibraries {
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final int TASKS_PER_CORE = 4;

    private LoadedLibraries() {}

    /** Returns the files by executor id; runs tasks until each executor has had one. */
    static Map<String, Set<String>> byExecutor(SparkSession spark) {
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        int tasks = TASKS_PER_CORE * context.defaultParallelism();
        List<String> found = context.parallelize(
                        IntStream.range(0, tasks).boxed().collect(Collectors.toList()), tasks)
                .flatMap(task -> Stream.concat(Stream.of(""), ofThisProcess())
                        .map(file -> SparkEnv.get().executorId() + " " + file)
                        .iterator())
                .collect();
        Map<String, Set<String>> files = new TreeMap<>();
        for (String each : found) {
            String[] parts = each.split(" ", 2);
            Set<String> ofOne = files.computeIfAbsent(parts[0], id -> new TreeSet<>());
            if (!parts[1].isEmpty()) {
                ofOne.add(parts[1]);
            }
        }
        return files;
    }

    private static Stream<String> ofThisProcess() throws IOException {
        return Files.readAllLines(MAPS).stream()
                .filter(line -> line.contains("/libibverbs.so") || line.contains("/librdmacm.so"))
                .map(line -> line.substring(line.indexOf('/')))
                .distinct();
    }
}
