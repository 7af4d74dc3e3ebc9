// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Refusals;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class VerbsOptionsTest {
    private final VerbsBench bench = new VerbsBench();

    @Test
    void wrongOptionsSayWhatIsAllowed() {
        assertThat(Refusals.of(bench.commandLine(), "--rounds", "0")).contains("must be integers above 0");
        assertThat(Refusals.of(bench.commandLine(), "--sizes", "7")).contains("--sizes: must be 8 and more");
        assertThat(Refusals.of(bench.commandLine(), "--depths", "0")).contains("--depths: must be 1 and more");
    }

    @Test
    void helpNamesTheWaysThatAreMeasured() {
        assertThat(bench.commandLine().getUsageMessage())
                .contains("futures")
                .contains("prepared operations")
                .contains("queue pairs");
    }
}
