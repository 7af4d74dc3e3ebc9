// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.Refusals;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.CaseCatalogue;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class ShuffleOptionsTest {
    private final ShuffleBench bench = new ShuffleBench();
    private final CommandLine commandLine = bench.commandLine();

    private Map<String, String> conf(Configuration configuration, String... args) {
        commandLine.parseArgs(args);
        return bench.options.conf(configuration, Path.of("/l"), Path.of("/w"), new GarbageLog(Path.of("/g")));
    }

    /** Runs what must end before anything starts. */
    @Test
    void defaultsAreAllCasesOfEightMillionRows() {
        commandLine.parseArgs();
        assertThat(bench.options.selected()).isEqualTo(CaseCatalogue.ALL);
        assertThat(bench.options.rows()).isEqualTo(8_000_000);
        assertThat(bench.options.rounds()).isEqualTo(3);
    }

    @Test
    void warmUpsDefaultToTheCompiledState() {
        assertThat(warmups()).containsEntry("skew-400", 5).containsEntry("repartition-2000-1KB", 1);
        assertThat(warmups("--warmups", "0")).hasSize(11).containsValue(0).doesNotContainValue(1);
    }

    private Map<String, Integer> warmups(String... args) {
        commandLine.parseArgs(args);
        return bench.options.selected().stream().collect(Collectors.toMap(BenchCase::name, bench.options::warmups));
    }

    @Test
    void firstJobsAreMeasuredWithoutWarmingUp() {
        assertThat(warmups("--cold")).containsOnly(entry("repartition-64-100B", 0), entry("repartition-400-100B", 0));
        assertThat(bench.options.cold()).isTrue();
        assertThat(bench.options.settings()).containsEntry("cold", true);
        assertThat(warmups("--cold", "--cases", "join-400", "--warmups", "0")).containsOnly(entry("join-400", 0));
        assertThat(Refusals.of(commandLine, "--cold", "--warmups", "1"))
                .contains("--warmups 1: --cold excludes warm-ups");
    }

    @Test
    void allAreAlikeButForTheirShuffle() {
        String[] args = {"--conf", "spark.a=b", "--ours-conf", "spark.a=c", "--pool", "1g", "--executor-memory", "900"};
        for (Configuration configuration : Configuration.values()) {
            assertThat(conf(configuration, args))
                    .containsEntry("spark.master", "local-cluster[2,1,900]")
                    .containsEntry("spark.sql.adaptive.enabled", "false")
                    .containsEntry("spark.local.dir", "/l")
                    .doesNotContainKey("spark.io.compression.codec");
            if (configuration == Configuration.SORT_BARE) {
                assertThat(conf(configuration, args)).containsEntry("spark.shuffle.compress", "false");
            } else {
                assertThat(conf(configuration, args)).doesNotContainKey("spark.shuffle.compress");
            }
        }
        assertThat(conf(Configuration.OURS, args))
                .containsEntry("spark.a", "c")
                .containsEntry("spark.shuffle.rdma.pool.maxSize", "1g");
        assertThat(conf(Configuration.SORT_DISK, args))
                .containsEntry("spark.a", "b")
                .containsEntry("spark.shuffle.manager", "sort")
                .doesNotContainKey("spark.shuffle.rdma.pool.maxSize");
    }

    @Test
    void withEqualMemorySortShuffleHasThePoolAsHeap() {
        String[] args = {"--equal-memory", "--pool", "2g", "--executor-memory", "900"};
        for (Configuration configuration : Configuration.SORT) {
            assertThat(conf(configuration, args))
                    .containsEntry("spark.master", "local-cluster[2,1,2948]")
                    .containsEntry("spark.executor.memory", "2948m");
        }
        assertThat(conf(Configuration.OURS, args)).containsEntry("spark.executor.memory", "900m");
    }

    @Test
    void javaOptionsOfTheUserAreKeptBesideTheGarbageLog() {
        assertThat(conf(Configuration.OURS, "--conf", "spark.executor.extraJavaOptions=-XX:+UseSerialGC"))
                .containsEntry("spark.executor.extraJavaOptions", "-XX:+UseSerialGC -Xlog:gc:file=/g/gc-%p.log");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--case", "skew-400"))
                .contains("--case")
                .contains("--disk, --tmpfs, --rows")
                .contains("--warmups");
        assertThat(Refusals.of(commandLine, "--cases", "sort"))
                .contains("--cases sort")
                .contains("terasort-400, reduceByKey-400");
        assertThat(Refusals.of(commandLine, "--rows", "0")).contains("--rows 0").contains("1 and more");
        assertThat(Refusals.of(commandLine, "--cases", "join-400", "--floors", "skew-400=1.2"))
                .contains("--floors skew-400")
                .contains("join-400");
        assertThat(Refusals.of(commandLine, "--rounds", "0")).contains("--rounds 0");
        assertThat(Refusals.of(commandLine, "--warmups", "-1")).contains("--warmups -1");
        assertThat(Refusals.of(commandLine, "--pool", "much"))
                .contains("--pool much")
                .contains("k, m, g");
        assertThat(Refusals.of(commandLine, "--fabric", "ucx")).contains("auto, shm, verbs, tcp, ofi, netty, sort");
        assertThat(Refusals.of(commandLine, "--conf", "a=b")).contains("spark.");
        assertThat(Refusals.of(commandLine, "skew-400")).contains("skew-400");
    }
}
