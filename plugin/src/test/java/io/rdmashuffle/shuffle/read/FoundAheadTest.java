// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a task remembers of its map outputs. */
@Tag("unit")
@Timeout(60)
class FoundAheadTest {
    private final FoundAhead<String> ahead = new FoundAhead<>();

    @Test
    void placesComeInTheOrderInWhichTheyWereFound() {
        for (long mapId = 0; mapId < 100; mapId++) {
            ahead.add(3 * mapId, "at " + mapId);
        }
        for (long mapId = 0; mapId < 100; mapId++) {
            assertThat(ahead.get(3 * mapId)).isEqualTo("at " + mapId);
            assertThat(ahead.get(3 * mapId)).as("another block of it").isEqualTo("at " + mapId);
        }
        assertThat(ahead.get(300)).isNull();
    }

    @Test
    void aMapOutputThatWasNotFoundIsNotKnownAndTheNextOneIs() {
        ahead.add(7, "seven");
        ahead.add(9, "nine");
        assertThat(ahead.get(8)).isNull();
        assertThat(ahead.get(7)).isEqualTo("seven");
        assertThat(ahead.get(8)).isNull();
        assertThat(ahead.get(9)).isEqualTo("nine");
        assertThat(ahead.get(7)).as("read before").isNull();
    }

    @Test
    void nothingIsKnownAfterItWasCleared() {
        ahead.add(7, "seven");
        ahead.add(9, "nine");
        assertThat(ahead.get(7)).isEqualTo("seven");
        ahead.clear();
        assertThat(ahead.get(7)).isNull();
        assertThat(ahead.get(9)).isNull();
        ahead.add(9, "nine again");
        assertThat(ahead.get(9)).isEqualTo("nine again");
    }
}
