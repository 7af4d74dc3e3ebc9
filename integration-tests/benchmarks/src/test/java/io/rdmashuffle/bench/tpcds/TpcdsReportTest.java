// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryComparison;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class TpcdsReportTest {
    private static QueryReply reply(long millis) {
        return new QueryReply("", 5, millis, millis * 2, 1_000, Map.of(), "");
    }

    private static QueryComparison round(QueryVerdict verdict, long sortMillis, long ourMillis) {
        return new QueryComparison("", verdict, reply(sortMillis), reply(ourMillis));
    }

    private static QueryResult query(String name, QueryComparison... rounds) {
        return new QueryResult(name, Arrays.asList(rounds));
    }

    private final QueryResult fast = query(
            "q1",
            round(QueryVerdict.EQUAL, 4_000, 2_000),
            round(QueryVerdict.EQUAL, 9_000, 1_900),
            round(QueryVerdict.EQUAL_BUT_TIES, 3_900, 2_100));
    private final QueryResult slow = query("q2", round(QueryVerdict.EQUAL, 1_000, 2_000));

    @Test
    void ratiosAreOfMedians() {
        assertThat(fast.sortSeconds()).isEqualTo(new Spread(4, 3.9, 9));
        assertThat(fast.totalRatio()).hasValue(2);
        assertThat(fast.cpuRatio()).hasValue(2);
        assertThat(slow.isBelow(TpcdsReport.SLOW)).isTrue();
        assertThat(slow.with(List.of(round(QueryVerdict.EQUAL, 5_000, 2_000))).totalRatio())
                .hasValue(1.5);
    }

    @Test
    void meanAndWorstAreOfQueriesWithEqualResults() {
        QueryResult different = query("q3", round(QueryVerdict.EQUAL, 1, 50), round(QueryVerdict.DIFFERENT, 1, 100));
        assertThat(different.totalRatio()).isEmpty();
        TpcdsReport report = new TpcdsReport(Map.of(), List.of(fast, slow, different));
        assertThat(report.geometricMean().orElseThrow()).isCloseTo(1, within(1e-9));
        assertThat(report.worst()).contains(slow);
        assertThat(report.acceptable()).isFalse();
        assertThat(report.render())
                .contains("worst: q2 0.50")
                .contains("below 0.95: q2")
                .contains("q3: DIFFERENT");
    }

    @Test
    void whatSortShuffleCannotRunSaysNothingAboutOurs() {
        TpcdsReport report = new TpcdsReport(Map.of(), List.of(query("q1", round(QueryVerdict.NOT_RUN, 0, 0))));
        assertThat(report.acceptable()).isTrue();
        assertThat(report.geometricMean()).isEmpty();
        assertThat(report.worst()).isEmpty();
    }

    @Test
    void jsonHasTheAgreedFields(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        new TpcdsReport(Map.of("scale", 1), List.of(fast, slow)).writeJson(file);

        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/settings/scale").asInt()).isEqualTo(1);
        assertThat(json.at("/geometricMean").asDouble()).isCloseTo(1, within(1e-9));
        assertThat(json.at("/worst").asText()).isEqualTo("q2");
        assertThat(json.at("/cases/0/name").asText()).isEqualTo("q1");
        assertThat(json.at("/cases/0/totalRatio").asDouble()).isEqualTo(2);
        assertThat(json.at("/cases/0/cpuRatio").asDouble()).isEqualTo(2);
        assertThat(json.at("/cases/0/overheadRatio").isNull()).isTrue();
        assertThat(json.at("/cases/0/sortMs").toString()).isEqualTo("[4000,9000,3900]");
    }
}
