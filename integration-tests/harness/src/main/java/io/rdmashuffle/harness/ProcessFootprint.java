// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Resources of a process that can leak.
 *
 * <p><b>Source:</b> proc(5).
 *
 * @param descriptors open files
 * @param poolMappings memory mappings of pools, its own and others'
 * @param threads how many there are of each name, numbers left out of names
 */
public record ProcessFootprint(long descriptors, long poolMappings, SortedMap<String, Integer> threads) {
    /**
     * Thread pools of Spark and Netty grow to their size while they are used; what leaks with every job grows past
     * this.
     */
    private static final int SLACK = 64;
    /** Regions of a process's own pool come and go, and a few threads of ours start when they are first needed. */
    private static final int OWN_SLACK = 16;

    private static final String OWN_THREADS = "rdma-";
    private static final String POOL_FILE = "/rdma-shuffle-";

    /** Measures processes; ended ones are skipped. */
    public static Map<Long, ProcessFootprint> of(List<ProcessHandle> processes) {
        Map<Long, ProcessFootprint> byPid = new HashMap<>();
        processes.forEach(process -> of(process).ifPresent(footprint -> byPid.put(process.pid(), footprint)));
        return byPid;
    }

    private static Optional<ProcessFootprint> of(ProcessHandle process) {
        Path proc = Path.of("/proc", Long.toString(process.pid()));
        try (Stream<Path> descriptors = Files.list(proc.resolve("fd"));
                Stream<Path> tasks = Files.list(proc.resolve("task"))) {
            SortedMap<String, Integer> threads = new TreeMap<>();
            tasks.forEach(task -> threads.merge(name(task), 1, Integer::sum));
            return Optional.of(new ProcessFootprint(descriptors.count(), poolMappings(proc), threads));
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    private static long poolMappings(Path proc) throws IOException {
        try (Stream<String> mappings = Files.lines(proc.resolve("maps"), StandardCharsets.ISO_8859_1)) {
            return mappings.filter(mapping -> mapping.contains(POOL_FILE)).count();
        }
    }

    /** A thread that ended meanwhile counts under no name. */
    private static String name(Path task) {
        try {
            return Files.readString(task.resolve("comm")).strip().replaceAll("[-#]*[0-9]+", "");
        } catch (IOException gone) {
            return "";
        }
    }

    /** Returns whether this is more than thread pools that fill up explain. */
    public boolean isGrownFrom(ProcessFootprint earlier) {
        return descriptors > earlier.descriptors + SLACK
                || poolMappings > earlier.poolMappings + OWN_SLACK
                || threadsNamed(OWN_THREADS) > earlier.threadsNamed(OWN_THREADS) + OWN_SLACK
                || count(threads) > count(earlier.threads) + SLACK;
    }

    /** Describes the growth since an earlier measurement. */
    public String growthSince(ProcessFootprint earlier) {
        String more = threads.entrySet().stream()
                .filter(named -> named.getValue() > earlier.threads.getOrDefault(named.getKey(), 0))
                .map(named -> named.getKey() + " " + earlier.threads.getOrDefault(named.getKey(), 0) + " to "
                        + named.getValue())
                .collect(Collectors.joining(", "));
        return "descriptors " + earlier.descriptors + " to " + descriptors + ", mappings of pools "
                + earlier.poolMappings + " to " + poolMappings + ", threads " + count(earlier.threads)
                + " to " + count(threads) + " (" + more + ")";
    }

    /** Returns how many threads there are whose name begins so. */
    public int threadsNamed(String prefix) {
        return threads.entrySet().stream()
                .filter(named -> named.getKey().startsWith(prefix))
                .mapToInt(Map.Entry::getValue)
                .sum();
    }

    private static int count(Map<String, Integer> threads) {
        return threads.values().stream().mapToInt(Integer::intValue).sum();
    }
}
