// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class TurnsTest {
    @Test
    void anotherOneBeginsEachRound() {
        Turns<String> turns = new Turns<>(List.of("a", "b", "c"));
        assertThat(turns.next()).containsExactly("a", "b", "c");
        assertThat(turns.upcoming()).containsExactly("b", "c", "a");
        assertThat(turns.next()).containsExactly("b", "c", "a");
        assertThat(turns.next()).containsExactly("c", "a", "b");
        assertThat(turns.next()).containsExactly("a", "b", "c");
    }
}
