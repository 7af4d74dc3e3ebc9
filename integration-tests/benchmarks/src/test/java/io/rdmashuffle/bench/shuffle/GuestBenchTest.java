// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Refusals;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs what must end before anything starts. */
@Tag("unit")
class GuestBenchTest {
    @ParameterizedTest
    @ValueSource(strings = {"--rows 0", "--partitions 0", "--rounds -1", "--jobs sort", "--row 1"})
    void optionsThatCannotBeAreRefused(String args) {
        String[] refused = args.split(" ", -1);
        assertThat(Refusals.of(new GuestBench().commandLine(), refused)).contains(refused[0]);
    }

    @Test
    void helpSaysWhatTheFiguresMean() {
        assertThat(new GuestBench().commandLine().getUsageMessage())
                .contains("--link", "REPARTITION, ", "nothing of a network card")
                .doesNotContain("--master");
    }
}
