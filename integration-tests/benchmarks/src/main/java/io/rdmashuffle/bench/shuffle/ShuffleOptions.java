// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.ComparisonOptions;
import java.nio.file.Path;
import java.util.LinkedHashMap;
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
final class ShuffleOptions extends ComparisonOptions {
    private static final String JAVA_OPTIONS = "spark.executor.extraJavaOptions";
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
            names = "--rows",
            order = FIRST,
            paramLabel = "N",
            description =
                    "Rows of 100 B of a case, over all map tasks; of 1 KB rows a tenth. Default: ${DEFAULT-VALUE}")
    private long rows = 8_000_000;

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Rounds of a case that are not counted, before those that are. Default: " + WARMUPS
                    + ", which the virtual machines' compilers need, but 1 with 2000 partitions")
    private @Nullable Integer warmups;

    @Option(
            names = "--disk",
            order = FIRST,
            paramLabel = "DIR",
            description = "Where spark.local.dir of sort-disk and of ours goes. Default: the build's folder")
    private @Nullable Path disk;

    @Option(
            names = "--tmpfs",
            order = FIRST,
            paramLabel = "DIR",
            description = "Where spark.local.dir of sort-tmpfs goes. Default: ${DEFAULT-VALUE}")
    private Path tmpfs = Path.of("/dev/shm");

    @Override
    public void check() {
        super.check();
        selected();
        atLeast("--rows", rows, 1);
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

    long rows() {
        return rows;
    }

    @Nullable
    Path disk() {
        return disk;
    }

    Path tmpfs() {
        return tmpfs;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("rows", rows);
        settings.put("warmups", selected().stream().collect(Collectors.toMap(BenchCase::name, this::warmups)));
        return settings;
    }

    /** Returns the configuration of a contender. Compression is left at the defaults of Spark and of our shuffle. */
    Map<String, String> conf(Contender contender, Path localDir, Path warehouse, GarbageLog garbage) {
        Map<String, String> wanted = new LinkedHashMap<>();
        wanted.put("spark.app.name", "bench-" + contender.label());
        wanted.put("spark.local.dir", localDir.toString());
        wanted.put("spark.sql.warehouse.dir", warehouse.toString());
        wanted.put("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
        // It would make fewer partitions than the case is about.
        wanted.put("spark.sql.adaptive.enabled", "false");
        wanted.put("spark.sql.autoBroadcastJoinThreshold", "-1");
        Map<String, String> all = complete(wanted, contender == Contender.OURS);
        all.merge(JAVA_OPTIONS, garbage.option(), (given, log) -> given + " " + log);
        return all;
    }
}
