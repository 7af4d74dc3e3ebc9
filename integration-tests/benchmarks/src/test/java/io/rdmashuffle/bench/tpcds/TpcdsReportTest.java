// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static io.rdmashuffle.bench.tpcds.Rounds.round;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryVerdict;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class TpcdsReportTest {
    private static final Set<Configuration> CONFIGURATIONS =
            EnumSet.of(Configuration.SORT_DISK, Configuration.SORT_BARE, Configuration.OURS);

    private static QueryResult query(String name, QueryRound... rounds) {
        return new QueryResult(name, Arrays.asList(rounds));
    }

    private static TpcdsReport report(QueryResult... queries) {
        return new TpcdsReport(Map.of("scale", 1), CONFIGURATIONS, Arrays.asList(queries));
    }

    /** Ratios 2, 4, 3. */
    private final QueryResult fast = query("q1", round(4_000, 2_000), round(8_000, 2_000), round(6_000, 2_000));
    /** Ratios 0.5, 0.25. */
    private final QueryResult slow = query("q2", round(1_000, 2_000), round(500, 2_000));

    @Test
    void meansAreOfQueriesAndOfRoundsThatAllHave() {
        QueryResult different = query("q3", round(1, 50), round(QueryVerdict.DIFFERENT, 1, 1, 100));
        TpcdsReport report = report(fast, slow, different);
        assertThat(report.geometricMean().orElseThrow()).isCloseTo(Math.sqrt(3 * 0.375), within(1e-9));
        assertThat(report.geometricMean(Configuration.SORT_BARE).orElseThrow())
                .isCloseTo(9 * Math.sqrt(3 * 0.375), within(1e-9));
        Spread ofRounds = report.meanOfRounds().orElseThrow();
        assertThat(ofRounds.min()).isCloseTo(1, within(1e-9));
        assertThat(ofRounds.max()).isCloseTo(1, within(1e-9));
        assertThat(report.judged()).containsExactly(slow, fast);
        assertThat(report.belowGoal()).containsExactly(slow);
        assertThat(report.acceptable()).isFalse();
    }

    @Test
    void theTextHasWhatTheGoalsAreAbout() {
        String text = TpcdsTables.render(report(fast, slow, query("q3", round(QueryVerdict.DIFFERENT, 1, 1, 100))));
        assertThat(text)
                .contains("fastest sort / ours: 1.06 over 2 queries; by round 1.00 (1.00-1.00)")
                .contains("sort-disk 1.06, sort-bare 9.55")
                .contains("below 0.97 by all rounds: 1 of 2: q2 0.38 (0.25-0.50)\n")
                .contains("best: q1 3.00 (2.00-4.00), q2")
                .contains("worst: q2 0.38 (0.25-0.50), q1")
                .contains("20 / 20 = 1.00; outside of 10 %: 0 of 2")
                .contains("10 / 20 / 10")
                .contains("q3: DIFFERENT");
    }

    @Test
    void queryThatSortShuffleCannotRunIsNotRated() {
        TpcdsReport report = report(query("q1", round(QueryVerdict.NOT_RUN, 0, 0, 0)));
        assertThat(report.acceptable()).isTrue();
        assertThat(report.geometricMean()).isEmpty();
        assertThat(report.meanOfRounds()).isEmpty();
        assertThat(TpcdsTables.render(report)).contains("below 0.97 by all rounds: 0 of 0");
    }

    @Test
    void jsonHasTheAgreedFields(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        report(fast, slow).writeJson(file);

        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/settings/scale").asInt()).isEqualTo(1);
        assertThat(json.at("/geometricMean").asDouble()).isCloseTo(Math.sqrt(3 * 0.375), within(1e-9));
        assertThat(json.at("/geometricMeanOfRounds/min").asDouble()).isCloseTo(1, within(1e-9));
        assertThat(json.at("/worst").asText()).isEqualTo("q2");
        assertThat(json.at("/belowGoal").toString()).isEqualTo("[\"q2\"]");
        assertThat(json.at("/reduceTasks/ratio").asDouble()).isEqualTo(1);
        assertThat(json.at("/cases/0/name").asText()).isEqualTo("q1");
        assertThat(json.at("/cases/0/fastestSort").asText()).isEqualTo("sort-disk");
        assertThat(json.at("/cases/0/totalRatio").asDouble()).isEqualTo(3);
        assertThat(json.at("/cases/0/totalRatioOfRounds/max").asDouble()).isEqualTo(4);
        assertThat(json.at("/cases/0/cpuRatio").asDouble()).isEqualTo(3);
        assertThat(json.at("/cases/0/overheadRatio").isNull()).isTrue();
        assertThat(json.at("/cases/0/configurations/sort-disk/millis").toString())
                .isEqualTo("[4000,8000,6000]");
        assertThat(json.at("/cases/0/configurations/sort-bare/reduceTasks").asInt())
                .isEqualTo(20);
    }
}
