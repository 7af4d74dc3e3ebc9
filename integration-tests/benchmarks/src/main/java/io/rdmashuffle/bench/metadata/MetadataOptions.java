// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench metadata}.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class MetadataOptions {
    /** View of peers' memory that a reader has. */
    enum Reads {
        /** Mapped, as on one host. */
        IN_PLACE,
        /** Copied by another thread, one request after another, as over a network but without its delay. */
        COPY;

        @Override
        public String toString() {
            return this == IN_PLACE ? "in-place" : "copy";
        }
    }

    private static final int HEAP_OBJECTS = 20_000;

    @Option(names = "--maps", paramLabel = "N", description = "Map outputs. Default: ${DEFAULT-VALUE}")
    private int maps = 10_000;

    @Option(names = "--partitions", paramLabel = "N", description = "Reduce partitions. Default: ${DEFAULT-VALUE}")
    private int partitions = 10_000;

    @Option(
            names = "--executors",
            paramLabel = "N",
            description = "Simulated executors that share the map outputs. Default: ${DEFAULT-VALUE}")
    private int executors = 100;

    @Option(names = "--no-growth", description = "Only that scale, without a tenth of each dimension in turn")
    private boolean noGrowth;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Fresh readers, each with one cold lookup. Default: ${DEFAULT-VALUE}")
    private int rounds = 5;

    @Option(names = "--tasks", paramLabel = "N", description = "Warm lookups of each reader. Default: ${DEFAULT-VALUE}")
    private int tasks = 20;

    @Option(
            names = "--reads",
            paramLabel = "WAY",
            description = "Access to peers' memory: in-place or copy. Default: ${DEFAULT-VALUE}")
    private String reads = Reads.IN_PLACE.toString();

    @Option(names = "--directory", paramLabel = "DIR", description = "tmpfs of the pools. Default: ${DEFAULT-VALUE}")
    private Path directory = Path.of("/dev/shm");

    @Option(
            names = "--membership",
            description = "Only simulate, in virtual time, how executors discover each other, for"
                    + " --executors executors; --maps and other options of map outputs are ignored")
    private boolean membership;

    @Option(
            names = "--clusters",
            description = "Only simulate an executor that looks its blocks up in clusters of 10 to --executors"
                    + " executors with 6, 16 and 64 cores each; --maps and other options of map outputs are ignored")
    private boolean clusters;

    @Option(names = "--seed", paramLabel = "N", description = "Random seed of --membership. Default: ${DEFAULT-VALUE}")
    private long seed = 1;

    @Option(names = "--json", paramLabel = "FILE", description = "Write all figures to a JSON file")
    private @Nullable Path json;

    /**
     * Validates combinations, which picocli cannot.
     *
     * @throws IllegalArgumentException naming the option, its value and valid values
     */
    void check() {
        within("--maps", maps, 1, 1_000_000);
        within("--partitions", partitions, 1, 1_000_000);
        within("--executors", executors, 1, 10_000);
        within("--rounds", rounds, 1, 1_000);
        within("--tasks", tasks, 1, 1_000);
        if (membership && clusters) {
            throw new IllegalArgumentException("--membership and --clusters: either is simulated, not both");
        }
        reads();
    }

    private static void within(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(option + " " + value + ": allowed is " + least + " to " + most);
        }
    }

    boolean isMembership() {
        return membership;
    }

    boolean isClusters() {
        return clusters;
    }

    int executors() {
        return executors;
    }

    long seed() {
        return seed;
    }

    Scale scale() {
        return new Scale(maps, partitions, executors);
    }

    /** Returns the scales to simulate, the requested one first. */
    List<Scale> scales() {
        return noGrowth ? List.of(scale()) : scale().growth();
    }

    Simulation.Effort effort() {
        return new Simulation.Effort(rounds, tasks, HEAP_OBJECTS);
    }

    Reads reads() {
        for (Reads way : Reads.values()) {
            if (way.toString().equals(reads)) {
                return way;
            }
        }
        throw new IllegalArgumentException("--reads " + reads + ": allowed is in-place or copy");
    }

    Path directory() {
        return directory;
    }

    @Nullable
    Path json() {
        return json;
    }

    /** Returns what a reader of the figures must know. */
    Map<String, Object> settings() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("rounds", rounds);
        settings.put("tasks", tasks);
        settings.put("reads", reads().toString());
        settings.put("slots", SimulatedExecutor.SLOTS);
        settings.put("processors", Runtime.getRuntime().availableProcessors());
        return settings;
    }
}
