// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.ComparisonOptions;
import io.rdmashuffle.demo.Application;
import io.rdmashuffle.harness.Workspace;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench tpcds} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class TpcdsOptions extends ComparisonOptions {
    private static final BigDecimal SMALLEST_SCALE = new BigDecimal("0.01");
    private static final BigDecimal LARGEST_SCALE = BigDecimal.valueOf(100);

    @Option(
            names = "--scale",
            order = FIRST,
            paramLabel = "SF",
            description = "TPC-DS scale factor, 0.01 to 100; 1 is about 1 GB of text. Default: ${DEFAULT-VALUE}")
    private BigDecimal scale = BigDecimal.ONE;

    @Option(
            names = "--queries",
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description = "Names such as q3,q14a,q5a-v2.7, or all for the 99 of version 1.4. Default: ${DEFAULT-VALUE}")
    private List<String> queries = List.of("all");

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Rounds of a query that are not counted, before those that are. Default: ${DEFAULT-VALUE}")
    private int warmups = 1;

    @Option(
            names = "--repeat-slow",
            order = FIRST,
            paramLabel = "N",
            description =
                    "Further rounds, at the end, of queries whose ratio is below 0.95 so far; they are judged by all"
                            + " rounds together. Default: ${DEFAULT-VALUE}")
    private int repeatSlow = 5;

    @Option(
            names = "--data",
            order = FIRST,
            paramLabel = "DIR",
            description = "Where generated tables are kept. Default: .data in the repository")
    private @Nullable Path data;

    @Override
    public void check() {
        super.check();
        if (scale.compareTo(SMALLEST_SCALE) < 0 || scale.compareTo(LARGEST_SCALE) > 0) {
            throw new IllegalArgumentException(
                    "--scale " + scale + ": allowed is " + SMALLEST_SCALE + " to " + LARGEST_SCALE);
        }
        atLeast("--warmups", warmups, 0);
        atLeast("--repeat-slow", repeatSlow, 0);
    }

    BigDecimal scale() {
        return scale;
    }

    List<String> queries() {
        return queries;
    }

    int warmups() {
        return warmups;
    }

    int repeatSlow() {
        return repeatSlow;
    }

    Path dataFolder(Workspace workspace) {
        Path given = data;
        return given == null ? workspace.data() : given;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("scale", scale);
        settings.put("warmups", warmups);
        settings.put("repeatSlow", repeatSlow);
        return settings;
    }

    /** Returns the configuration of one of the two applications: the demo's, fully compiled. */
    Map<String, String> conf(boolean ours) {
        return complete(Application.commonConf(EXECUTORS, true), ours);
    }
}
