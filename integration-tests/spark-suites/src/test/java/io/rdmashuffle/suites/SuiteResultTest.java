// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.suites.Exemptions.OtherManager;
import io.rdmashuffle.suites.Suite.Engine;
import io.rdmashuffle.suites.agent.ShuffleEvidence;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class SuiteResultTest {
    private static final Suite SUITE = Suite.asItIs("ASuite", "spark.ASuite", Engine.SCALATEST);
    private static final Exemptions EXEMPTIONS = new Exemptions(
            List.of(new Exemption("spark.ASuite", "looks at files", "no files", "Ours#test", null)), List.of());
    private static final Map<String, Long> OURS = Map.of(ShuffleEvidence.OURS, 3L);
    private static final Map<String, Long> SORT = Map.of(ShuffleEvidence.OTHER + "SortShuffleManager", 3L);

    private static SuiteResult result(ShuffleMode fabric, Map<String, Long> evidence, SuiteEvent... events) {
        return SuiteResult.of(
                SUITE,
                fabric,
                1,
                Optional.empty(),
                List.of(concat(events, SuiteEvent.completed(evidence))),
                fabric == ShuffleMode.SORT ? Exemptions.none() : EXEMPTIONS);
    }

    private static SuiteEvent[] concat(SuiteEvent[] events, SuiteEvent last) {
        SuiteEvent[] all = java.util.Arrays.copyOf(events, events.length + 1);
        all[events.length] = last;
        return all;
    }

    @Test
    void exemptFailureIsAcceptableAndOthersAreNot() {
        SuiteEvent exempt = SuiteEvent.failed("looks at files", 1, "no such file");
        SuiteResult right = result(ShuffleMode.AUTO, OURS, SuiteEvent.passed("a", 1), exempt);
        assertThat(right.acceptable()).isTrue();
        assertThat(right.passed()).isEqualTo(1);
        assertThat(right.exempt()).containsExactly(exempt);
        assertThat(right.failed()).isEmpty();

        SuiteEvent failed = SuiteEvent.failed("b", 1, "wrong");
        SuiteResult wrong = result(ShuffleMode.AUTO, OURS, exempt, failed);
        assertThat(wrong.acceptable()).isFalse();
        assertThat(wrong.failed()).containsExactly(failed);
        assertThat(result(ShuffleMode.SORT, SORT, exempt).acceptable()).isFalse();
    }

    @Test
    void exemptionThatIsNotNeededIsAFailure() {
        SuiteResult result = result(ShuffleMode.AUTO, OURS, SuiteEvent.passed("looks at files", 1));
        assertThat(result.stale()).containsExactly("looks at files");
        assertThat(result.problems()).containsExactly("'looks at files' passed; it needs no exemption");
    }

    @Test
    void everyShuffleIsOursUnlessItIsListed() {
        Map<String, Long> some = Map.of(ShuffleEvidence.OURS, 3L, ShuffleEvidence.FELL_BACK, 1L);
        SuiteEvent passed = SuiteEvent.passed("a", 1);
        assertThat(result(ShuffleMode.AUTO, some, passed).problems())
                .containsExactly("of 4 shuffles 1 did not go through ours");
        Exemptions listed = new Exemptions(List.of(), List.of(new OtherManager("spark.ASuite", "push-based")));
        assertThat(SuiteResult.of(
                                SUITE,
                                ShuffleMode.AUTO,
                                1,
                                Optional.empty(),
                                List.of(passed, SuiteEvent.completed(some)),
                                listed)
                        .acceptable())
                .isTrue();
        assertThat(SuiteResult.of(
                                SUITE,
                                ShuffleMode.AUTO,
                                1,
                                Optional.empty(),
                                List.of(passed, SuiteEvent.completed(OURS)),
                                listed)
                        .problems())
                .containsExactly("all 3 shuffles went through ours; it needs no exemption");
    }

    @Test
    void nothingRunIsAFailureAndSkippedIsNotPassed() {
        SuiteResult none = result(ShuffleMode.AUTO, OURS, SuiteEvent.skipped("a", "ignored"));
        assertThat(none.acceptable()).isFalse();
        assertThat(none.passed()).isZero();
        assertThat(none.problems()).containsExactly("no test ran");
    }

    @Test
    void shufflesThatWentElsewhereAreAFailure() {
        SuiteEvent passed = SuiteEvent.passed("a", 1);
        assertThat(result(ShuffleMode.SHM, SORT, passed).problems())
                .containsExactly("of 3 shuffles 3 did not go through ours");
        assertThat(result(ShuffleMode.SHM, Map.of(ShuffleEvidence.FELL_BACK, 2L), passed)
                        .acceptable())
                .isFalse();
        assertThat(result(ShuffleMode.SORT, OURS, passed).acceptable()).isFalse();
        assertThat(result(ShuffleMode.SORT, SORT, passed).acceptable()).isTrue();
        assertThat(result(ShuffleMode.SHM, Map.of(), passed).acceptable()).isTrue();
    }

    @Test
    void abortsAndEndingsAreFailures() {
        SuiteEvent passed = SuiteEvent.passed("a", 1);
        assertThat(result(ShuffleMode.AUTO, OURS, passed, SuiteEvent.aborted("no class"))
                        .problems())
                .containsExactly("aborted: no class");
        assertThat(SuiteResult.of(
                                SUITE,
                                ShuffleMode.AUTO,
                                1,
                                Optional.of("killed after 5 s"),
                                List.of(passed),
                                Exemptions.none())
                        .acceptable())
                .isFalse();
    }

    @Test
    void reportNamesWhatDidNotPass() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        SuiteResult result = result(
                ShuffleMode.AUTO,
                OURS,
                SuiteEvent.passed("a", 1),
                SuiteEvent.failed("b", 1, "wrong"),
                SuiteEvent.failed("looks at files", 1, "no such file"),
                SuiteEvent.skipped("c", "ignored"));
        SuitesReport.print(
                new PrintStream(bytes, true, StandardCharsets.UTF_8),
                ShuffleMode.AUTO,
                List.of(result),
                EXEMPTIONS,
                Path.of("logs"));
        assertThat(bytes.toString(StandardCharsets.UTF_8))
                .contains("FAILED ASuite: b")
                .contains("exempt ASuite: looks at files")
                .contains("no files Instead: Ours#test")
                .contains("skipped ASuite: c (ignored)")
                .contains("auto: 1 passed, 1 failed, 1 exempt, 1 skipped; NOT all right");
    }

    @Test
    void theRunningTestIsTheOneWithoutAnEnd() {
        List<SuiteEvent> events = List.of(SuiteEvent.started("a"), SuiteEvent.passed("a", 1), SuiteEvent.started("b"));
        assertThat(RunningTest.of(events)).contains("b");
        assertThat(RunningTest.of(events.subList(0, 2))).isEmpty();
    }
}
