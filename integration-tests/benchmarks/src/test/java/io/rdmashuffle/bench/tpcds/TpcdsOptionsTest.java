// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Refusals;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class TpcdsOptionsTest {
    private final TpcdsBench bench = new TpcdsBench();
    private final CommandLine commandLine = bench.commandLine();

    /** Runs what must end before anything starts. */
    @Test
    void defaultsAreAllQueriesAtScaleOneThreeTimes() {
        commandLine.parseArgs();
        assertThat(bench.options.scale()).isEqualByComparingTo("1");
        assertThat(bench.options.queries()).containsExactly("all");
        assertThat(bench.options.rounds()).isEqualTo(3);
    }

    @Test
    void bothAreAlikeButForTheirShuffleAndFullyCompiled() {
        commandLine.parseArgs("--conf", "spark.sql.shuffle.partitions=200", "--pool", "1g");
        for (boolean ours : new boolean[] {false, true}) {
            assertThat(bench.options.conf(ours))
                    .containsEntry("spark.sql.shuffle.partitions", "200")
                    .containsEntry("spark.master", "local-cluster[2,1,1500]")
                    .containsEntry("spark.executor.memory", "1500m")
                    .doesNotContainKeys("spark.executor.extraJavaOptions", "spark.shuffle.compress");
        }
        assertThat(bench.options.conf(true)).containsEntry("spark.shuffle.rdma.pool.maxSize", "1g");
        assertThat(bench.options.conf(false)).containsEntry("spark.shuffle.manager", "sort");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--query", "q3"))
                .contains("--query")
                .contains("--queries")
                .contains("--repeat-slow");
        assertThat(Refusals.of(commandLine, "--queries", "q3,q100"))
                .contains("q100")
                .contains("q99");
        assertThat(Refusals.of(commandLine, "--scale", "0"))
                .contains("--scale 0")
                .contains("0.01 to 100");
        assertThat(Refusals.of(commandLine, "--repeat-slow", "-1")).contains("--repeat-slow -1");
        assertThat(Refusals.of(commandLine, "--rounds", "0")).contains("--rounds 0");
        assertThat(Refusals.of(commandLine, "--conf", "a=b")).contains("spark.");
    }
}
