// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.demo.QueryVerdict;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class TpcdsRunTest {
    /** Fake that answers with given rounds, and records requests. */
    private static final class Scripted implements QueryRunner {
        final Map<String, Deque<QueryRound>> script = new TreeMap<>();
        final List<String> asked = new ArrayList<>();
        boolean cold = true;

        @Override
        public boolean isCold() {
            return cold;
        }

        @Override
        public void restart() {
            cold = true;
            asked.add("restart");
        }

        @Override
        public void warmUp(String query) {
            cold = false;
            asked.add("warm " + query);
        }

        @Override
        public QueryRound round(String query) {
            asked.add(query);
            return Objects.requireNonNull(script.get(query), query).removeFirst();
        }
    }

    private final Scripted runner = new Scripted();

    private List<QueryResult> run(TpcdsRun.Counts counts, String... queries) throws Exception {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
        try (StepProgress progress = new StepProgress(nowhere, "queries", queries.length)) {
            return new TpcdsRun(runner, counts, progress, soFar -> {}).run(List.of(queries));
        }
    }

    private void script(String query, QueryRound... rounds) {
        runner.script.put(query, new ArrayDeque<>(List.of(rounds)));
    }

    @Test
    void unclearQueriesAreRepeatedThoseThatLookGoodToo() throws Exception {
        script("bad", Rounds.round(500, 1_000), Rounds.round(600, 1_000));
        script("good", Rounds.round(1_500, 1_000), Rounds.round(1_600, 1_000));
        script(
                "lucky",
                Rounds.round(900, 1_000),
                Rounds.round(2_000, 1_000),
                Rounds.round(800, 1_000),
                Rounds.round(700, 1_000));
        List<QueryResult> results = run(new TpcdsRun.Counts(1, 0, 2, 2, Duration.ZERO), "bad", "good", "lucky");
        assertThat(runner.asked).containsExactly("bad", "bad", "good", "good", "lucky", "lucky", "lucky", "lucky");
        assertThat(results.get(2).ratio().orElseThrow().max()).isEqualTo(2);
        assertThat(results.get(2).isBelow(TpcdsReport.GOAL)).isTrue();
        assertThat(results.get(0).rounds()).hasSize(2);
    }

    @Test
    void moreWarmUpsComeAfterAStartUnlessNoneAreWanted() throws Exception {
        script("q1", Rounds.round(1, 1));
        script("q2", Rounds.round(1, 1));
        run(new TpcdsRun.Counts(1, 1, 1, 0, Duration.ZERO), "q1", "q2");
        assertThat(runner.asked).containsExactly("warm q1", "warm q1", "warm q1", "warm q1", "q1", "warm q2", "q2");
        runner.cold = true;
        runner.asked.clear();
        script("q1", Rounds.round(1, 1));
        run(new TpcdsRun.Counts(1, 0, 1, 0, Duration.ZERO), "q1");
        assertThat(runner.asked).containsExactly("q1");
    }

    @Test
    void eachStartHasAllQueriesExceptThoseThatFailed() throws Exception {
        script("q1", Rounds.round(1_000, 1_000), Rounds.round(3_000, 1_000));
        script("q2", Rounds.round(QueryVerdict.DIFFERENT, 1, 1, 1));
        List<QueryResult> results = run(new TpcdsRun.Counts(2, 1, 1, 0, Duration.ZERO), "q1", "q2");
        assertThat(runner.asked)
                .containsExactly(
                        "warm q1", "warm q1", "warm q1", "warm q1", "q1", "warm q2", "q2", "restart", "warm q1",
                        "warm q1", "warm q1", "warm q1", "q1");
        assertThat(results.get(0).ratio().orElseThrow().median()).isEqualTo(2);
        assertThat(results.get(1).rounds()).hasSize(1);
    }

    @Test
    void aQueryEndsWithTheRoundThatFails() throws Exception {
        script("q1", Rounds.round(QueryVerdict.DIFFERENT, 1, 1, 1));
        List<QueryResult> results = run(new TpcdsRun.Counts(1, 0, 3, 2, Duration.ZERO), "q1");
        assertThat(results.get(0).rounds()).hasSize(1);
        assertThat(results.get(0).verdict()).isEqualTo(QueryVerdict.DIFFERENT);
    }
}
