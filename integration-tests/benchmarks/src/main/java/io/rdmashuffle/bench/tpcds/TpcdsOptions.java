// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.FolderOptions;
import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.QueryServer;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of {@code bin/bench tpcds} and what follows from them.
 *
 * <p><b>Threading:</b> filled by picocli, then only read.
 */
final class TpcdsOptions extends FolderOptions {
    /** Queries in a subset. */
    static final int SUBSET = 20;

    private static final String SHUFFLE_HEAVY = "shuffle-heavy";
    private static final String ALL = "all";
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
            description = "Names such as q3,q14a,q5a-v2.7, or all: the 99 of version 1.4, which are 103 with their"
                    + " variants. Default: all")
    private @Nullable List<String> queries;

    @Option(
            names = "--subset",
            order = FIRST,
            paramLabel = "NAME",
            description = SHUFFLE_HEAVY + ": instead of --queries, the " + SUBSET + " that write most bytes to"
                    + " shuffles, compressed, per second of CPU time, with sort-disk, by the table"
                    + " shuffle-table.csv of the sources, which --shuffle-table writes")
    private @Nullable String subset;

    @Option(
            names = {"--configurations", "--contenders"},
            order = FIRST,
            paramLabel = "NAMES",
            split = ",",
            description = "Configurations of sort shuffle to compare with: sort-disk, sort-tmpfs, sort-bare, or"
                    + " all. Each takes as long as ours. The default has Spark's default configuration,"
                    + " and what shares with ours both memory and the lack of a codec; between these two sort-tmpfs is"
                    + " seldom the fastest. Default: sort-disk,sort-bare")
    private List<String> configurations = List.of(Configuration.SORT_DISK.label(), Configuration.SORT_BARE.label());

    @Option(
            names = "--starts",
            order = FIRST,
            paramLabel = "N",
            description = "Starts of all applications; each start has the warm-ups and rounds of all queries. The code"
                    + " that the JIT compiler makes for a query differs by up to 30 %% from one JVM to the next, which"
                    + " more rounds in the same JVMs do not show. Default: ${DEFAULT-VALUE}")
    private int starts = 1;

    @Option(
            names = "--warmups",
            order = FIRST,
            paramLabel = "N",
            description = "Warm-up rounds of a query, which do not count; three more of the first"
                    + " query after applications start. Default: ${DEFAULT-VALUE}")
    private int warmups = 1;

    @Option(
            names = "--repeat-unclear",
            order = FIRST,
            paramLabel = "N",
            description = "Further rounds, at the end, of queries with rounds on both sides of " + TpcdsReport.GOAL
                    + ", whichever side the median is on; all rounds judge. Default: ${DEFAULT-VALUE}")
    private int repeatUnclear = 2;

    @Option(
            names = "--hosts",
            order = FIRST,
            description = "Run executors in two network namespaces, each with its own /dev/shm and local directories;"
                    + " needs root")
    private boolean hosts;

    @Option(
            names = "--link",
            order = FIRST,
            paramLabel = "GBITS",
            description = "Bandwidth of the link to each host of --hosts, in Gb/s")
    private double link;

    @Option(
            names = "--kill",
            order = FIRST,
            paramLabel = "SECONDS",
            description =
                    "Kill an executor of the application whose query runs, each time that its queries have run for"
                            + " so long; shows what that cost. Default: never")
    private int kill;

    @Option(
            names = "--pause",
            order = FIRST,
            paramLabel = "SECONDS",
            description = "Pause after each round of a query, as between a user's queries. Default: ${DEFAULT-VALUE}")
    private int pause;

    @Option(
            names = "--data",
            order = FIRST,
            paramLabel = "DIR",
            description = "Folder for generated tables. Default: .data in the repository, which a clean build"
                    + " leaves alone")
    private @Nullable Path data;

    @Option(
            names = "--shuffle-table",
            order = FIRST,
            paramLabel = "FILE",
            description = "Only measure with sort-disk the figures that --subset uses, and write them")
    private @Nullable Path shuffleTable;

    @Override
    public void check() {
        super.check();
        if (scale.compareTo(SMALLEST_SCALE) < 0 || scale.compareTo(LARGEST_SCALE) > 0) {
            throw new IllegalArgumentException(
                    "--scale " + scale + ": allowed is " + SMALLEST_SCALE + " to " + LARGEST_SCALE);
        }
        atLeast("--starts", starts, 1);
        atLeast("--warmups", warmups, 0);
        atLeast("--repeat-unclear", repeatUnclear, 0);
        atLeast("--kill", kill, 0);
        atLeast("--pause", pause, 0);
        if (link != 0 && !hosts) {
            throw new IllegalArgumentException("--link " + link + " needs --hosts");
        }
        if (subset != null && !subset.equals(SHUFFLE_HEAVY)) {
            throw new IllegalArgumentException("--subset " + subset + ": there is only " + SHUFFLE_HEAVY);
        }
        if (subset != null && queries != null) {
            throw new IllegalArgumentException("--subset and --queries: either names the queries, not both");
        }
        if (configurations().stream().noneMatch(Configuration::compresses)) {
            throw new IllegalArgumentException("--configurations " + String.join(",", configurations)
                    + ": sort-disk or sort-tmpfs is wanted, since rows and reduce tasks are held against a shuffle"
                    + " that compresses");
        }
    }

    BigDecimal scale() {
        return scale;
    }

    /**
     * Returns the names of the queries, in the order in which they are run.
     *
     * @throws IllegalArgumentException naming all queries, if one is unknown
     */
    List<String> queries(QueryCatalogue catalogue, ShuffleTable table) {
        if (subset != null) {
            return catalogue.resolve(table.heaviest(SUBSET));
        }
        return catalogue.resolve(queries == null ? List.of(ALL) : queries);
    }

    /** Returns who takes part, ours always. */
    Set<Configuration> configurations() {
        Set<Configuration> chosen = EnumSet.of(Configuration.OURS);
        for (String written : configurations) {
            String name = written.strip();
            List<Configuration> found = Stream.of(Configuration.values())
                    .filter(configuration -> name.equals(ALL) || name.equals(configuration.label()))
                    .toList();
            if (found.isEmpty()) {
                throw new IllegalArgumentException("--configurations " + name + ": valid are all, "
                        + Configuration.SORT.stream().map(Configuration::label).collect(Collectors.joining(", ")));
            }
            chosen.addAll(found);
        }
        return chosen;
    }

    /** Returns the configuration whose rows ours must have: the first that compresses. */
    Configuration reference() {
        return configurations().stream()
                .filter(Configuration::compresses)
                .findFirst()
                .orElseThrow();
    }

    TpcdsRun.Counts counts() {
        return new TpcdsRun.Counts(starts, warmups, rounds(), repeatUnclear, Duration.ofSeconds(pause));
    }

    @Nullable
    Path shuffleTable() {
        return shuffleTable;
    }

    Path dataFolder(Workspace workspace) {
        Path given = data;
        return given == null ? workspace.data() : given;
    }

    @Override
    public Map<String, Object> settings() {
        Map<String, Object> settings = super.settings();
        settings.put("scale", scale);
        settings.put("starts", starts);
        settings.put("hosts", hosts);
        settings.put("link", link);
        settings.put("warmups", warmups);
        settings.put("kill", kill);
        settings.put("pause", pause);
        settings.put("repeatUnclear", repeatUnclear);
        settings.put(
                "configurations",
                configurations().stream().map(Configuration::label).toList());
        settings.put("subset", subset == null ? "" : subset);
        return settings;
    }

    /** Returns the demo's Spark settings, fully compiled, with the folder for shuffle files of a configuration. */
    Map<String, String> conf(Configuration configuration, Path localDir) {
        Map<String, String> wanted = Application.commonConf(EXECUTORS, true);
        wanted.put("spark.local.dir", localDir.toString());
        Map<String, String> conf = complete(wanted, configuration == Configuration.OURS);
        conf.putAll(configuration.conf());
        if (kill > 0) {
            conf.put(QueryServer.KILL_SECONDS, Integer.toString(kill));
            // A worker gives an application up after ten lost executors while none runs.
            conf.putIfAbsent("spark.deploy.maxExecutorRetries", "-1");
            conf.putIfAbsent("spark.task.maxFailures", "20");
        }
        return conf;
    }
}
