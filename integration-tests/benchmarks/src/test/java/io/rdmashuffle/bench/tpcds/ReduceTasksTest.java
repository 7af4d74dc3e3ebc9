// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.demo.QueryVerdict;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class ReduceTasksTest {
    private static QueryResult query(String name, QueryVerdict verdict, long disk, long bare, long ours) {
        return new QueryResult(
                name,
                List.of(new QueryRound(
                        verdict,
                        Map.of(
                                Configuration.SORT_DISK,
                                Rounds.reply(9, disk),
                                Configuration.SORT_BARE,
                                Rounds.reply(1, bare),
                                Configuration.OURS,
                                Rounds.reply(9, ours)))));
    }

    @Test
    void tasksAreComparedToTheCompressingSortShuffle() {
        ReduceTasks tasks = ReduceTasks.of(List.of(
                query("q1", QueryVerdict.EQUAL, 100, 200, 110),
                query("q2", QueryVerdict.EQUAL_BUT_TIES, 100, 200, 89),
                query("q3", QueryVerdict.EQUAL, 100, 200, 111),
                query("q4", QueryVerdict.EQUAL, 0, 0, 0),
                query("q5", QueryVerdict.DIFFERENT, 100, 200, 900)));
        assertThat(tasks.ratio().orElseThrow()).isCloseTo(310 / 300.0, within(1e-9));
        assertThat(tasks.outside()).extracting(ReduceTasks.OfQuery::name).containsExactly("q2", "q3");
    }

    @Test
    void noComparisonWithoutACompressingSortShuffle() {
        QueryResult failed = new QueryResult(
                "q1",
                List.of(new QueryRound(
                        QueryVerdict.EQUAL,
                        Map.of(
                                Configuration.SORT_DISK,
                                Rounds.failed("gone"),
                                Configuration.SORT_BARE,
                                Rounds.reply(1, 5),
                                Configuration.OURS,
                                Rounds.reply(1, 5)))));
        assertThat(ReduceTasks.of(List.of(failed)).queries()).isEmpty();
        assertThat(ReduceTasks.of(List.of()).ratio()).isEmpty();
    }
}
