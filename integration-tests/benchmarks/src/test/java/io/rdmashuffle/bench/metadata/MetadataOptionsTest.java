// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Refusals;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

@Tag("unit")
class MetadataOptionsTest {
    private final MetadataBench bench = new MetadataBench();
    private final CommandLine commandLine = bench.commandLine();

    /** Runs what must end before anything starts. */
    @Test
    void defaultsAreTheLargeShuffleAndATenthOfEachDimension() {
        commandLine.parseArgs();
        assertThat(bench.options.scales())
                .containsExactly(
                        new Scale(10_000, 10_000, 100),
                        new Scale(1_000, 10_000, 100),
                        new Scale(10_000, 1_000, 100),
                        new Scale(10_000, 10_000, 10));
        assertThat(bench.options.reads()).isEqualTo(MetadataOptions.Reads.IN_PLACE);
        assertThat(bench.options.json()).isNull();
    }

    @Test
    void growthLeavesOutWhatHasNoTenth() {
        commandLine.parseArgs("--maps", "50", "--partitions", "9", "--executors", "1");
        assertThat(bench.options.scales()).containsExactly(new Scale(50, 9, 1), new Scale(5, 9, 1));
        commandLine.parseArgs("--maps", "50", "--no-growth");
        assertThat(bench.options.scales()).containsExactly(new Scale(50, 10_000, 100));
    }

    @Test
    void membershipIsAModeOfItsOwn() {
        commandLine.parseArgs();
        assertThat(bench.options.isMembership()).isFalse();
        commandLine.parseArgs("--membership", "--executors", "10000", "--seed", "7");
        assertThat(bench.options.isMembership()).isTrue();
        assertThat(bench.options.executors()).isEqualTo(10_000);
        assertThat(bench.options.seed()).isEqualTo(7);
        assertThat(commandLine.getUsageMessage()).contains("--membership").contains("virtual time");
    }

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(commandLine, "--map", "3"))
                .contains("--map")
                .contains("--maps")
                .contains("--executors");
        assertThat(Refusals.of(commandLine, "--maps", "0")).contains("--maps 0").contains("1 to");
        assertThat(Refusals.of(commandLine, "--executors", "10001")).contains("--executors 10001");
        assertThat(Refusals.of(commandLine, "--rounds", "x")).contains("--rounds");
        assertThat(Refusals.of(commandLine, "--reads", "verbs"))
                .contains("--reads verbs")
                .contains("in-place or copy");
    }

    @Test
    void poolsThatDoNotFitAreAFailureInOneLine() {
        StringWriter err = new StringWriter();
        commandLine.setErr(new PrintWriter(err));
        assertThat(commandLine.execute("--maps", "1000000", "--partitions", "1000000"))
                .isEqualTo(1);
        assertThat(err.toString()).contains("lower --maps").hasLineCount(1);
    }
}
