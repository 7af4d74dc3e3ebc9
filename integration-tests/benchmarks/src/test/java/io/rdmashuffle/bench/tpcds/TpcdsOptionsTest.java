// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Refusals;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class TpcdsOptionsTest {
    private final TpcdsBench bench = new TpcdsBench();
    private final CommandLine commandLine = bench.commandLine();

    private Map<String, String> conf(Configuration configuration) {
        return bench.options.conf(configuration, Path.of("/l"));
    }

    private List<String> queries(String... args) throws Exception {
        commandLine.parseArgs(args);
        bench.options.check();
        return bench.options.queries(QueryCatalogue.load(), ShuffleTable.load());
    }

    /** Runs what must end before anything starts. */
    @Test
    void defaultsAreAllQueriesAtScaleOne() throws Exception {
        assertThat(queries()).hasSize(103);
        assertThat(bench.options.scale()).isEqualByComparingTo("1");
        assertThat(bench.options.counts()).isEqualTo(new TpcdsRun.Counts(1, 1, 3, 2, Duration.ZERO));
        assertThat(bench.options.configurations())
                .containsExactly(Configuration.SORT_DISK, Configuration.SORT_BARE, Configuration.OURS);
        assertThat(bench.options.reference()).isEqualTo(Configuration.SORT_DISK);
    }

    @Test
    void theSubsetIsOfTwentyQueriesByTheTable() throws Exception {
        assertThat(queries("--subset", "shuffle-heavy"))
                .hasSize(20)
                .containsExactlyElementsOf(ShuffleTable.load().heaviest(20));
    }

    @Test
    void allFourMayTakePart() {
        commandLine.parseArgs("--configurations", "all");
        assertThat(bench.options.configurations()).containsExactly(Configuration.values());
        commandLine.parseArgs("--configurations", "sort-bare,sort-tmpfs");
        assertThat(bench.options.configurations())
                .containsExactly(Configuration.SORT_TMPFS, Configuration.SORT_BARE, Configuration.OURS);
        assertThat(bench.options.reference()).isEqualTo(Configuration.SORT_TMPFS);
    }

    @Test
    void allAreAlikeButForTheirShuffleAndFullyCompiled() {
        commandLine.parseArgs("--conf", "spark.sql.shuffle.partitions=200", "--pool", "1g");
        for (Configuration configuration : Configuration.values()) {
            assertThat(conf(configuration))
                    .containsEntry("spark.sql.shuffle.partitions", "200")
                    .containsEntry("spark.master", "local-cluster[2,1,1500]")
                    .containsEntry("spark.executor.memory", "1500m")
                    .containsEntry("spark.local.dir", "/l")
                    .doesNotContainKeys("spark.executor.extraJavaOptions");
        }
        assertThat(conf(Configuration.OURS)).containsEntry("spark.shuffle.rdma.pool.maxSize", "1g");
        assertThat(conf(Configuration.SORT_DISK))
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKey("spark.shuffle.compress");
        assertThat(conf(Configuration.SORT_BARE)).containsEntry("spark.shuffle.compress", "false");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--query", "q3"))
                .contains("--query")
                .contains("--queries")
                .contains("--configurations")
                .contains("--repeat-unclear");
        assertThat(Refusals.of(commandLine, "--queries", "q3,q100"))
                .contains("q100")
                .contains("q99");
        assertThat(Refusals.of(commandLine, "--subset", "heavy"))
                .contains("--subset heavy")
                .contains("shuffle-heavy");
        assertThat(Refusals.of(commandLine, "--subset", "shuffle-heavy", "--queries", "q3"))
                .contains("--queries")
                .contains("not both");
        assertThat(Refusals.of(commandLine, "--configurations", "disk"))
                .contains("--configurations disk")
                .contains("all, sort-disk, sort-tmpfs, sort-bare");
        assertThat(Refusals.of(commandLine, "--configurations", "sort-bare"))
                .contains("--configurations sort-bare")
                .contains("sort-disk or sort-tmpfs");
        assertThat(Refusals.of(commandLine, "--scale", "0"))
                .contains("--scale 0")
                .contains("0.01 to 100");
        assertThat(Refusals.of(commandLine, "--repeat-unclear", "-1")).contains("--repeat-unclear -1");
        assertThat(Refusals.of(commandLine, "--rounds", "0")).contains("--rounds 0");
        assertThat(Refusals.of(commandLine, "--conf", "a=b")).contains("spark.");
    }
}
