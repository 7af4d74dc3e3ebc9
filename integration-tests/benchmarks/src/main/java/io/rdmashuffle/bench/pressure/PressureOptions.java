// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import io.rdmashuffle.bench.jobs.JobOptions;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench pressure} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class PressureOptions extends JobOptions {
    private static final String POOL = "spark.shuffle.rdma.pool.maxSize";
    private static final long ROWS = 4_000_000;

    @Option(
            names = "--cases",
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description = "Cases as those of bin/bench shuffle. Default: ${DEFAULT-VALUE}")
    private List<String> cases = List.of("repartition-400-100B");

    @Option(
            names = "--sizes",
            order = FIRST,
            paramLabel = "SIZES",
            split = ",",
            description = "Pools as shares of an executor's output; 0 is the smallest possible pool, 1 MB."
                    + " Default: ${DEFAULT-VALUE}")
    private List<String> sizes = List.of("2", "1", "1/2", "1/10", "1/100", "0");

    @Option(
            names = "--transfer",
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description =
                    "in-place: our shuffle reads peers' memory and files where they lie. copying: it copies out of"
                            + " them, and sort shuffle asks peers over Netty, as between hosts."
                            + " Default: ${DEFAULT-VALUE}")
    private List<String> transfers = List.of("in-place", "copying");

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Runs of each new application that are not counted. Default: ${DEFAULT-VALUE}")
    private int warmups = 3;

    @Option(
            names = "--report",
            order = FIRST,
            paramLabel = "DIR",
            description = "Write pressure.md and pressure.svg to this folder")
    private @Nullable Path report;

    PressureOptions() {
        super(ROWS);
    }

    @Override
    public void check() {
        super.check();
        cases();
        sizes();
        transfers();
        atLeast("--warmups", warmups, 0);
    }

    List<BenchCase> cases() {
        return CaseCatalogue.select(cases);
    }

    List<PoolShare> sizes() {
        return sizes.stream().map(PoolShare::parse).toList();
    }

    List<Transfer> transfers() {
        return transfers.stream().map(Transfer::parse).distinct().toList();
    }

    int warmups() {
        return warmups;
    }

    @Nullable
    Path report() {
        return report;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("warmups", warmups);
        return settings;
    }

    /** Returns the configuration of sort shuffle. */
    Map<String, String> sortConf(Configuration configuration, Transfer transfer, Folders folders) {
        return with(
                transfer,
                false,
                jobConf(configuration.label(), false, folders.local(), folders.warehouse(), folders.garbage()));
    }

    /** Returns ours. */
    Map<String, String> oursConf(Transfer transfer, @Nullable Long poolBytes, Folders folders) {
        Map<String, String> all = with(
                transfer,
                true,
                jobConf(Configuration.OURS.label(), true, folders.local(), folders.warehouse(), folders.garbage()));
        if (poolBytes != null && all.containsKey(POOL)) {
            all.put(POOL, poolBytes.toString());
        }
        return all;
    }

    private static Map<String, String> with(Transfer transfer, boolean ours, Map<String, String> conf) {
        transfer.conf(ours).forEach(conf::putIfAbsent);
        return conf;
    }

    /** Folder of an application's files. */
    record Folders(Path local, Path warehouse, GarbageLog garbage) {}
}
