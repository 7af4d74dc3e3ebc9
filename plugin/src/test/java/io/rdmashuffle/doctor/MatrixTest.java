// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the printed pairs of executors, and of the exit code. */
@Tag("unit")
class MatrixTest {
    private static final PairReport NEAR =
            PairReport.of("1", "2", true, PairReport.VERBS, PairReport.IN_PLACE, 0.2, 8e9, "");
    private static final PairReport FAR =
            PairReport.of("1", "3", false, PairReport.VERBS, PairReport.VERBS, 2.5, 11e9, "");
    private static final PairReport LOST =
            PairReport.of("2", "3", false, PairReport.VERBS, PairReport.NETTY, 0, 0, "executor 3 does not offer verbs");

    private static ExecutorReport executor(String id, String finding, PairReport... pairs) {
        return new ExecutorReport(
                id, "host" + id, "verdict", finding.isEmpty() ? List.of() : List.of(finding), List.of(pairs));
    }

    @Test
    void theBestPathIsInPlaceOnOneHostAndVerbsBetweenTwo() {
        assertThat(NEAR.best()).isTrue();
        assertThat(FAR.best()).isTrue();
        assertThat(LOST.best()).isFalse();
        assertThat(PairReport.of("1", "2", false, PairReport.VERBS, PairReport.IN_PLACE, 1, 1, "")
                        .best())
                .as("pods of one host have addresses of their own")
                .isTrue();
        assertThat(PairReport.of("1", "2", false, PairReport.VERBS, PairReport.SHM, 1, 1, "")
                        .best())
                .isFalse();
        assertThat(PairReport.of("1", "2", true, PairReport.VERBS, PairReport.SHM, 1, 1, "")
                        .best())
                .isFalse();
        assertThat(PairReport.of("1", "2", true, PairReport.VERBS, PairReport.VERBS, 1, 1, "")
                        .best())
                .isFalse();
        assertThat(PairReport.of("1", "3", false, PairReport.VERBS, PairReport.VERBS, 0, 0, "TIMED_OUT")
                        .best())
                .as("a path over which no read came back")
                .isFalse();
    }

    @Test
    void withoutADeviceTcpIsTheBestPathBetweenHosts() {
        assertThat(PairReport.of("1", "2", false, PairReport.TCP, PairReport.TCP, 1, 1, "")
                        .best())
                .isTrue();
        assertThat(PairReport.of("1", "2", false, PairReport.TCP, PairReport.NETTY, 1, 1, "")
                        .best())
                .isFalse();
        assertThat(PairReport.of("1", "2", true, PairReport.TCP, PairReport.TCP, 1, 1, "")
                        .best())
                .isFalse();
        assertThat(PairReport.of("1", "2", false, PairReport.VERBS, PairReport.TCP, 1, 1, "")
                        .best())
                .isFalse();
    }

    @Test
    void pairWithoutItsBestPathHasOneReason() {
        assertThat(NEAR.withReason("other").reason()).isEmpty();
        assertThat(LOST.withReason("other").reason()).isEqualTo("executor 3 does not offer verbs");
        assertThat(PairReport.of("1", "2", true, PairReport.VERBS, PairReport.SHM, 1, 1, "")
                        .withReason("other")
                        .reason())
                .isEqualTo("other");
    }

    @Test
    void aHealthyClusterHasExitCodeZero() {
        Matrix matrix = new Matrix("0.1.0", 1, List.of(executor("1", "", NEAR, FAR)));
        assertThat(matrix.exitCode()).isZero();
        assertThat(matrix.text())
                .contains("executor 1 on host1", "pairs by path: {in-place=1, verbs=1}", "Exit code 0")
                .doesNotContain("(!)");
    }

    @Test
    void executorsThatDidNotComeAreAFault() {
        Matrix matrix = new Matrix("0.1.0", 3, List.of(executor("1", "", NEAR)));
        assertThat(matrix.exitCode()).isEqualTo(1);
        assertThat(matrix.text())
                .contains("doctor of 1 executors\n(!) 3 were waited for", "by the best path. Exit code 1.");
    }

    @Test
    void reasonsAndFindingsAreToldOnceHoweverManyHaveThem() {
        PairReport back = PairReport.of(
                "3", "2", false, PairReport.VERBS, PairReport.NETTY, 0, 0, "executor 3 does not offer verbs");
        Matrix matrix = new Matrix(
                "0.1.0",
                3,
                List.of(
                        executor("1", "", NEAR, FAR),
                        executor("2", "", LOST),
                        executor("3", "locked-memory: too low\nremedy: raise it", back)));
        assertThat(matrix.exitCode()).isEqualTo(1);
        assertThat(matrix.text())
                .contains(
                        "in-place 8.00 0.2",
                        "verbs 11.00 2.5",
                        "netty (!)",
                        "(!) 2 pair(s), such as 2 from 3, take netty: executor 3 does not offer verbs",
                        "executor 3: locked-memory: too low\n    remedy: raise it",
                        "2 of 4 pairs do not have the best path. Exit code 1.");
    }

    @Test
    void jsonHasExecutorsAndPairs() {
        JsonObject json = JsonParser.parseString(new Matrix("0.1.0", 1, List.of(executor("2", "", LOST))).json())
                .getAsJsonObject();
        assertThat(json.keySet())
                .containsExactly("format", "version", "exitCode", "executorsWanted", "executors", "pairs");
        assertThat(json.getAsJsonArray("pairs").get(0).getAsJsonObject().keySet())
                .containsExactly("reader", "owner", "path", "best", "medianMicros", "bytesPerSecond", "reason");
        assertThat(json.getAsJsonArray("executors").get(0).getAsJsonObject().keySet())
                .containsExactly("executor", "host", "verdict", "findings");
    }

    @Test
    void aLargeClusterIsNotPrintedAsATable() {
        List<ExecutorReport> many = IntStream.range(0, 40)
                .mapToObj(i -> executor(
                        "e" + i,
                        "",
                        PairReport.of("e" + i, "x", true, PairReport.VERBS, PairReport.IN_PLACE, 1, 1, "")))
                .toList();
        assertThat(new Matrix("0.1.0", 40, many).text()).doesNotContain("row reads from column");
    }
}
