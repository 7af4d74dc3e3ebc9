// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.SparkKeys;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The demo's options and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class DemoOptions {
    private static final BigDecimal LARGEST_SCALE = BigDecimal.valueOf(100);
    private static final int MOST_EXECUTORS = 16;

    @Option(
            names = "--fabric",
            converter = ShuffleModeConverter.class,
            paramLabel = "MODE",
            description = "Transport of our shuffle: ${COMPLETION-CANDIDATES}; sort compares sort shuffle with"
                    + " itself. Default: ${DEFAULT-VALUE}")
    private ShuffleMode fabric = ShuffleMode.AUTO;

    @Option(
            names = "--scale",
            paramLabel = "SF",
            description = "TPC-DS scale factor, 0.01 to 100; 1 is about 1 GB of text. Default: ${DEFAULT-VALUE}")
    private BigDecimal scale = new BigDecimal("0.1");

    @Option(
            names = "--queries",
            paramLabel = "NAMES",
            split = ",",
            description = "Names such as q3,q14a,q5a-v2.7, or all for the 99 of version 1.4. Default: a dozen that"
                    + " shuffle most and have results at scale 0.1, ${DEFAULT-VALUE}")
    private List<String> queries =
            List.of("q7", "q10", "q17", "q27", "q35", "q38", "q51", "q67", "q69", "q72", "q80", "q97");

    @Option(
            names = "--executors",
            paramLabel = "N",
            description = "Executors with one core and 1 GB each, 1 to 16, for each of the two applications. Default:"
                    + " ${DEFAULT-VALUE}")
    private int executors = 2;

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of our application only; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    @Option(
            names = "--common-conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of both applications; repeatable")
    private Map<String, String> commonConf = new LinkedHashMap<>();

    @Option(
            names = "--full-jit",
            description =
                    "Compile as in production, for longer runs at larger scales. Without it both applications stop"
                            + " at the first compiler, since at small scales queries are mostly compilation")
    private boolean fullJit;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "Folder for generated tables. Default: .data in the repository")
    private @Nullable Path data;

    @Option(names = "--json", paramLabel = "FILE", description = "Write the report to a file as JSON, too")
    private @Nullable Path json;

    @Option(
            names = "--keep",
            description = "Leave our application running until Enter is pressed, and say where its user interface is,"
                    + " with the tab RDMA shuffle")
    private boolean keep;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "A query that takes longer has failed. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 600;

    /**
     * Validates ranges, which picocli cannot.
     *
     * @throws IllegalArgumentException naming the option, its value and valid values
     */
    void check() {
        if (scale.compareTo(new BigDecimal("0.01")) < 0 || scale.compareTo(LARGEST_SCALE) > 0) {
            throw new IllegalArgumentException("--scale " + scale + ": allowed is 0.01 to " + LARGEST_SCALE);
        }
        if (executors < 1 || executors > MOST_EXECUTORS) {
            throw new IllegalArgumentException("--executors " + executors + ": allowed is 1 to " + MOST_EXECUTORS);
        }
        if (timeoutSeconds < 1) {
            throw new IllegalArgumentException("--timeout " + timeoutSeconds + ": allowed is 1 second and more");
        }
        SparkKeys.check("--conf", conf.keySet());
        SparkKeys.check("--common-conf", commonConf.keySet());
    }

    ShuffleMode fabric() {
        return fabric;
    }

    BigDecimal scale() {
        return scale;
    }

    List<String> queries() {
        return queries;
    }

    int executors() {
        return executors;
    }

    boolean keep() {
        return keep;
    }

    Duration timeout() {
        return Duration.ofSeconds(timeoutSeconds);
    }

    @Nullable
    Path json() {
        return json;
    }

    Path dataFolder(Workspace workspace) {
        Path given = data;
        return given == null ? workspace.data() : given;
    }

    /** Returns the configuration of the application that uses sort shuffle. */
    Map<String, String> sortConf() {
        Map<String, String> all = Application.commonConf(executors, fullJit);
        all.putAll(commonConf);
        all.putAll(ShuffleMode.SORT.conf());
        return all;
    }

    /** Returns the configuration of the application that uses ours; what the user gave wins. */
    Map<String, String> ourConf() {
        Map<String, String> all = Application.commonConf(executors, fullJit);
        all.putAll(commonConf);
        all.putAll(fabric.conf());
        all.putAll(conf);
        return all;
    }
}
