// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Contender;
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
    /** A round of so many tasks warms up as much as several rounds of the others do. */
    private static final int MANY_PARTITIONS = 2_000;

    @Option(
            names = "--cases",
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description =
                    "Cases by name, by the beginning of names, or by a pattern with * and ?; all of them by default."
                            + " They are: repartition-{64,400,2000}-{100B,1KB}, groupBy-400, join-400, terasort-400,"
                            + " reduceByKey-400, skew-400; the number is of map tasks, and of reduce tasks")
    private List<String> cases = List.of("all");

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Rounds of a case that are not counted, before those that are. Default: " + WARMUPS
                    + ", which the virtual machines' compilers need, but 1 with 2000 partitions")
    private @Nullable Integer warmups;

    ShuffleOptions() {
        super(ROWS);
    }

    @Override
    public void check() {
        super.check();
        selected();
        atLeast("--warmups", warmups == null ? 0 : warmups, 0);
    }

    int warmups(BenchCase benchCase) {
        if (warmups != null) {
            return warmups;
        }
        return benchCase.partitions() < MANY_PARTITIONS ? WARMUPS : 1;
    }

    List<BenchCase> selected() {
        return CaseCatalogue.select(cases);
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("warmups", selected().stream().collect(Collectors.toMap(BenchCase::name, this::warmups)));
        return settings;
    }

    /** Returns the configuration of a contender. Compression is at the defaults, unless the contender has its own. */
    Map<String, String> conf(Contender contender, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> conf =
                jobConf(contender.label(), contender == Contender.OURS, localDir, warehouse, garbage);
        conf.putAll(contender.conf());
        return conf;
    }
}
