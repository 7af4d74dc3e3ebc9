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
    private final FoundAhead<Place> ahead = new FoundAhead<>(Place::mapId);

    private record Place(long mapId, String where) {}

    @Test
    void placesComeInTheOrderInWhichTheyWereFound() {
        for (long mapId = 0; mapId < 100; mapId++) {
            ahead.add(new Place(3 * mapId, "at " + mapId));
        }
        for (long mapId = 0; mapId < 100; mapId++) {
            assertThat(ahead.get(3 * mapId)).isEqualTo(new Place(3 * mapId, "at " + mapId));
            assertThat(ahead.get(3 * mapId)).as("another block of it").isEqualTo(new Place(3 * mapId, "at " + mapId));
        }
        assertThat(ahead.get(300)).isNull();
    }

    @Test
    void aMapOutputThatWasNotFoundIsNotKnownAndTheNextOneIs() {
        ahead.add(new Place(7, "seven"));
        ahead.add(new Place(9, "nine"));
        assertThat(ahead.get(8)).isNull();
        assertThat(ahead.get(7)).isEqualTo(new Place(7, "seven"));
        assertThat(ahead.get(8)).isNull();
        assertThat(ahead.get(9)).isEqualTo(new Place(9, "nine"));
        assertThat(ahead.get(7)).as("read before").isNull();
    }

    @Test
    void nothingIsKnownAfterItWasCleared() {
        ahead.add(new Place(7, "seven"));
        ahead.add(new Place(9, "nine"));
        assertThat(ahead.get(7)).isEqualTo(new Place(7, "seven"));
        ahead.clear();
        assertThat(ahead.get(7)).isNull();
        assertThat(ahead.get(9)).isNull();
        ahead.add(new Place(9, "nine again"));
        assertThat(ahead.get(9)).isEqualTo(new Place(9, "nine again"));
    }
}
