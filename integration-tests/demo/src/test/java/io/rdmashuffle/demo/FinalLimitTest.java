// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class FinalLimitTest {
    @Test
    void findsTheLastLimitOnly() {
        String query = "SELECT * FROM (SELECT a FROM t LIMIT 5) ORDER BY a\nLIMIT 100\n";
        assertThat(FinalLimit.in(query)).isTrue();
        assertThat(FinalLimit.removedFrom(query)).isEqualTo("SELECT * FROM (SELECT a FROM t LIMIT 5) ORDER BY a\n");
    }

    @Test
    void aLimitInsideIsNotFinal() {
        assertThat(FinalLimit.in("SELECT * FROM (SELECT a FROM t LIMIT 5)")).isFalse();
        assertThat(FinalLimit.in("select speed_limit 100")).isFalse();
    }
}
