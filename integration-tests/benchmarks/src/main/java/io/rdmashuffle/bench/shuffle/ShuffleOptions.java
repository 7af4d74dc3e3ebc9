// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import io.rdmashuffle.bench.jobs.JobOptions;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench shuffle} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
class ShuffleOptions extends JobOptions {
    private static final long ROWS = 8_000_000;
    private static final int WARMUPS = 5;
    /** Number of tasks of which one round warms up as much as several rounds of the others. */
    private static final int MANY_PARTITIONS = 2_000;

    private static final List<String> COLD_CASES = List.of("repartition-64-100B", "repartition-400-100B");

    @Option(
            names = "--cases",
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description = "Cases by name, by the beginning of names, or by a pattern with * and ?; all of them by"
                    + " default, with --cold repartition-64-100B and repartition-400-100B. They are:"
                    + " repartition-{64,400,2000}-{100B,1KB}, groupBy-400, join-400, terasort-400, reduceByKey-400,"
                    + " skew-400; the number is of map tasks, and of reduce tasks")
    private @Nullable List<String> cases;

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Warm-up rounds of a case, which do not count. Default: " + WARMUPS
                    + ", for the JIT compilers, but 1 with 2000 partitions")
    private @Nullable Integer warmups;

    @Option(
            names = "--cold",
            order = FIRST,
            description = "Measure first jobs: each round starts an application of each anew, whose executors have"
                    + " loaded no class and compiled nothing, and ends it after one job. There are no floors then, and"
                    + " so no overhead")
    private boolean cold;

    @Option(
            names = "--floors",
            order = FIRST,
            paramLabel = "CASE=RATIO",
            split = ",",
            description = "Fail if a case's ratio of the fastest sort shuffle is below a floor, such as"
                    + " join-400=1.4; comma-separated")
    private Map<String, Double> floors = Map.of();

    ShuffleOptions() {
        super(ROWS);
    }

    @Override
    public void check() {
        super.check();
        selected();
        atLeast("--warmups", warmups == null ? 0 : warmups, 0);
        List<String> names = selected().stream().map(BenchCase::name).toList();
        floors.keySet().stream()
                .filter(name -> !names.contains(name))
                .findFirst()
                .ifPresent(name -> {
                    throw new IllegalArgumentException("--floors " + name + ": not among the cases that run: " + names);
                });
        if (cold && warmups != null && warmups > 0) {
            throw new IllegalArgumentException("--warmups " + warmups + ": --cold excludes warm-ups");
        }
    }

    /** Returns the least ratio of each case of which one was given. */
    Map<String, Double> floors() {
        return floors;
    }

    /** Returns whether each job has an application of its own. */
    boolean cold() {
        return cold;
    }

    int warmups(BenchCase benchCase) {
        if (warmups != null || cold) {
            return warmups == null ? 0 : warmups;
        }
        return benchCase.partitions() < MANY_PARTITIONS ? WARMUPS : 1;
    }

    List<BenchCase> selected() {
        if (cases != null) {
            return CaseCatalogue.select(cases);
        }
        return CaseCatalogue.select(cold ? COLD_CASES : List.of("all"));
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("cold", cold);
        settings.put("warmups", selected().stream().collect(Collectors.toMap(BenchCase::name, this::warmups)));
        return settings;
    }

    /** Returns the Spark settings of a configuration, with default compression unless it sets its own. */
    Map<String, String> conf(Configuration configuration, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> conf =
                jobConf(configuration.label(), configuration == Configuration.OURS, localDir, warehouse, garbage);
        conf.putAll(configuration.conf());
        return conf;
    }
}
