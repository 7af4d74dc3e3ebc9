// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.SparkKeys;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The options of {@code bin/spark-suites} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class SuitesOptions {
    private static final String RDMA = "rdma";
    private static final String SORT = "sort";

    @Parameters(
            arity = "0..*",
            paramLabel = "SUITE",
            description = "Any suite of Spark's core and sql tests jars, by simple or full name. Default:"
                    + " ${DEFAULT-VALUE}")
    private List<String> suites = List.of(
            "ShuffleSuite",
            "DistributedSuite",
            "SortShuffleSuite",
            "AdaptiveQueryExecSuite",
            "CoalesceShufflePartitionsSuite",
            "ExchangeSuite",
            "JoinSuite",
            "BlockManagerDecommissionIntegrationSuite");

    @Option(
            names = "--fabric",
            converter = ShuffleModeConverter.class,
            paramLabel = "MODE",
            description = "Transport of our shuffle: ${COMPLETION-CANDIDATES}; sort is the same as --manager sort."
                    + " Default: ${DEFAULT-VALUE}")
    private ShuffleMode fabric = ShuffleMode.AUTO;

    @Option(
            names = "--manager",
            paramLabel = "NAME",
            description = "rdma for ours; sort for Spark's own, to compare: nothing is exempt then. Default: rdma")
    private @Nullable String manager;

    @Option(
            names = "--conf",
            paramLabel = "KEY=VALUE",
            description = "Spark configuration of every application that leaves the key open; repeatable")
    private Map<String, String> conf = new LinkedHashMap<>();

    @Option(
            names = "--test",
            paramLabel = "TEXT",
            description = "Run only tests with this in their names, of suites written with ScalaTest")
    private String test = "";

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "A suite that takes longer is killed and has failed. Default: ${DEFAULT-VALUE}")
    private int timeoutSeconds = 3600;

    /**
     * Validates combinations, which picocli cannot.
     *
     * @throws IllegalArgumentException naming the option, its value and valid values
     */
    void check() {
        if (manager != null && !manager.equals(RDMA) && !manager.equals(SORT)) {
            throw new IllegalArgumentException("--manager " + manager + ": allowed are rdma, sort");
        }
        if (RDMA.equals(manager) && fabric == ShuffleMode.SORT) {
            throw new IllegalArgumentException("--manager rdma and --fabric sort contradict each other");
        }
        if (timeoutSeconds < 1) {
            throw new IllegalArgumentException("--timeout " + timeoutSeconds + ": allowed is 1 second and more");
        }
        SparkKeys.check("--conf", conf.keySet());
    }

    List<String> suites() {
        return suites;
    }

    /** Returns the fabric, or {@link ShuffleMode#SORT} whichever way it was asked for. */
    ShuffleMode fabric() {
        return SORT.equals(manager) ? ShuffleMode.SORT : fabric;
    }

    /** Returns what every application of a suite gets; what the user gave wins. */
    Map<String, String> applicationConf() {
        Map<String, String> all = new LinkedHashMap<>(fabric().conf());
        all.putAll(conf);
        return all;
    }

    String test() {
        return test;
    }

    Duration timeout() {
        return Duration.ofSeconds(timeoutSeconds);
    }
}
