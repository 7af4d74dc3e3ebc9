// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.perftest.Perftest.Operation;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class VerbsReportTest {
    private static VerbsReport.Way way(double bytesPerSecond, double garbage) {
        return new VerbsReport.Way(Spread.of(List.of(bytesPerSecond)), garbage);
    }

    /** A row of 100 MB/s with perftest. */
    private static VerbsReport.Row row(
            Operation operation, int size, int depth, double futures, double prepared, double garbage) {
        return new VerbsReport.Row(
                operation,
                size,
                depth,
                way(futures * 1e6, 1234),
                way(prepared * 1e6, garbage),
                way(110e6, 0),
                Spread.of(List.of(100e6)));
    }

    private static VerbsReport report(VerbsReport.Row... rows) {
        return new VerbsReport(List.of(rows), List.of());
    }

    @Test
    void eachWayHasItsBandwidthRatioAndGarbage() {
        String table = report(row(Operation.SEND, 65536, 16, 84, 97, 0.25)).bandwidthTable();
        assertThat(table.lines().filter(line -> line.contains("SEND")))
                .singleElement()
                .asString()
                .matches("\\| *SEND \\| *65536 \\| *16 \\| *84.00 .*\\| *97.00 .*\\| *110.00 .*\\| *100.00 .*"
                        + "\\| *0.84 \\| *0.97 \\| *1.10 \\| *1234 \\| *0.25 \\| *0.00 \\|");
        assertThat(table).contains("futures MB/s", "prepared MB/s", "garbage B/op futures");
    }

    @Test
    void goalsCountWhatIsLongAndDeep() {
        String goals = report(
                        row(Operation.READ, 65536, 16, 0.8 * 100, 85, 0),
                        row(Operation.WRITE, 1 << 20, 64, 90, 84, 0),
                        row(Operation.SEND, 65536, 16, 85, 100, 0.01),
                        // These do not count.
                        row(Operation.READ, 4096, 16, 100, 100, 0),
                        row(Operation.READ, 65536, 1, 100, 100, 0),
                        row(Operation.FETCH_AND_ADD, 65536, 16, 100, 100, 0))
                .goals();
        assertThat(goals)
                .startsWith("of 3 runs of READ, WRITE and SEND of 64 KiB and more with at least 16 outstanding")
                .contains("0.85 is reached by 2 with prepared operations, by 2 with futures")
                .endsWith("2 with prepared operations make no garbage");
    }

    @Test
    void latenciesAreThoseOfAllWays() {
        VerbsReport report = new VerbsReport(
                List.of(), List.of(new VerbsReport.LatencyRow(Operation.READ, 64, 300, 200, 43, 490, 23, 61.7)));
        assertThat(report.latencyTable())
                .containsPattern("READ \\| *64 \\| *300.0 \\| *200.0 \\| *43.0 \\| *490.0 \\| *23.0 \\| *61.7 \\|");
    }
}
