// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static io.rdmashuffle.bench.tpcds.Rounds.round;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryVerdict;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class QueryResultTest {
    private static QueryResult query(QueryRound... rounds) {
        return new QueryResult("q1", Arrays.asList(rounds));
    }

    /** Medians of each side, divided, say 1.0 here: they pick a good round of ours and a slow one of sort shuffle. */
    @Test
    void theMedianIsOfTheRatiosOfRoundsAndNotOfTheTimes() {
        QueryResult result = query(round(1_000, 2_000), round(4_000, 1_000), round(2_000, 2_200));
        assertThat(result.seconds(Configuration.SORT_DISK).median())
                .isEqualTo(result.seconds(Configuration.OURS).median());
        assertThat(result.ratio()).contains(new Spread(2_000 / 2_200.0, 0.5, 4));
        assertThat(result.isBelow(TpcdsReport.GOAL)).isTrue();
    }

    @Test
    void firstRoundsCountAfterARepetition() {
        QueryResult first = query(round(500, 1_000), round(500, 1_000), round(500, 1_000));
        QueryResult repeated = first.with(List.of(round(1_200, 1_000), round(1_200, 1_000)));
        assertThat(repeated.ratio()).contains(new Spread(0.5, 0.5, 1.2));
        assertThat(repeated.isBelow(TpcdsReport.GOAL)).isTrue();
    }

    @Test
    void oursIsHeldAgainstTheFastestOfTheRun() {
        QueryResult result = query(
                round(QueryVerdict.EQUAL, 3_000, 1_000, 2_000),
                round(QueryVerdict.EQUAL, 900, 1_000, 2_000),
                round(QueryVerdict.EQUAL, 3_000, 1_000, 2_000));
        assertThat(result.fastestSort()).contains(Configuration.SORT_BARE);
        assertThat(result.ratio()).contains(new Spread(0.5, 0.5, 0.5));
        assertThat(result.ratio(Configuration.SORT_DISK).orElseThrow().median()).isEqualTo(1.5);
        assertThat(result.cpuRatio()).contains(new Spread(0.5, 0.5, 0.5));
        assertThat(result.ratioOfRound(2)).hasValue(0.5);
        assertThat(result.ratioOfRound(3)).isEmpty();
    }

    @Test
    void whoeverFailsInOneRoundIsNotTheFastest() {
        QueryRound failed = new QueryRound(
                QueryVerdict.EQUAL,
                Map.of(
                        Configuration.SORT_DISK,
                        Rounds.reply(3_000, 1),
                        Configuration.SORT_BARE,
                        Rounds.failed("no answer within 7 s"),
                        Configuration.OURS,
                        Rounds.reply(2_000, 1)));
        QueryResult result = query(round(QueryVerdict.EQUAL, 3_000, 1_000, 2_000), failed);
        assertThat(result.fastestSort()).contains(Configuration.SORT_DISK);
        assertThat(result.errors()).isEqualTo("sort-bare: no answer within 7 s");
        assertThat(failed.complete()).isFalse();
    }

    @Test
    void resultOnBothSidesOfTheLimitIsUnclear() {
        assertThat(query(round(1_000, 1_000), round(1_000, 1_000), round(900, 1_000))
                        .isUnclear(TpcdsReport.GOAL))
                .isTrue();
        assertThat(query(round(900, 1_000), round(900, 1_000), round(1_000, 1_000))
                        .isUnclear(TpcdsReport.GOAL))
                .isTrue();
        assertThat(query(round(800, 1_000), round(900, 1_000)).isUnclear(TpcdsReport.GOAL))
                .isFalse();
        assertThat(query(round(1_100, 1_000), round(1_000, 1_000)).isUnclear(TpcdsReport.GOAL))
                .isFalse();
    }

    @Test
    void thereIsNoRatioOfRowsThatDiffer() {
        QueryResult different = query(round(1, 50), round(QueryVerdict.DIFFERENT, 1, 1, 100));
        assertThat(different.verdict()).isEqualTo(QueryVerdict.DIFFERENT);
        assertThat(different.ratio()).isEmpty();
        assertThat(different.cpuRatio()).isEmpty();
        assertThat(different.isBelow(TpcdsReport.GOAL)).isFalse();
    }
}
