// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class SoakReportTest {
    private static final Duration SHORT = Duration.ofMinutes(19);
    private static final Duration LONG = Duration.ofMinutes(20);

    @Test
    void withoutJobsOrFaultsOrPoolBytesItIsNotGreen() {
        SoakReport report = new SoakReport(SHORT, true);
        assertThat(report.acceptable()).isFalse();
        report.compared();
        report.applicationEnded(Map.of(Fault.KILLED, 1));
        assertThat(report.acceptable()).isFalse();
        report.moved(Map.of("shm", 5L));
        assertThat(report.acceptable()).isTrue();
        report.difference("something");
        assertThat(report.acceptable()).isFalse();
        assertThat(report.toString()).contains("DIFFERENT something").contains("1 differences");
    }

    /** Adds 100 bytes, of which {@code copied} were copied from pools and {@code disk} read in the disk tier. */
    private static SoakReport moved(SoakReport report, long copied, long disk) {
        report.compared();
        report.applicationEnded(Map.of(Fault.KILLED, 1));
        report.moved(Map.of("shm", 60L, "local", 40L, "direct", 100L, "fetchBatch", copied, "diskRead", disk));
        return report;
    }

    @Test
    void aLongRunInWhichAWayFallsShortIsNotGreen() {
        assertThat(moved(new SoakReport(LONG, true), 25, 25).acceptable()).isTrue();
        assertThat(moved(new SoakReport(LONG, true), 24, 25).acceptable()).isFalse();
        assertThat(moved(new SoakReport(LONG, true), 25, 24).acceptable()).isFalse();
        assertThat(moved(new SoakReport(LONG, true), 38, 38).acceptable()).isFalse();
        assertThat(moved(new SoakReport(LONG, true), 24, 25).toString())
                .contains("direct in place 51 %, copied 24 %, from the disk tier 25 % (least: 25 % each)")
                .contains("BELOW ITS LEAST SHARE copied");
    }

    @Test
    void sharesOfShortRunsAndOfOneFabricAreNotAsked() {
        assertThat(moved(new SoakReport(SHORT, true), 0, 0).acceptable()).isTrue();
        assertThat(moved(new SoakReport(LONG, false), 0, 0).acceptable()).isTrue();
    }

    @Test
    void diskTierCopiesCountForTheirApplicationOnly() {
        SoakReport report = moved(new SoakReport(LONG, true), 0, 0);
        moved(report, 75, 100);
        assertThat(report.shares())
                .containsEntry(Way.IN_PLACE, 0.5)
                .containsEntry(Way.COPIED, 0.375)
                .containsEntry(Way.ON_DISK, 0.5);
    }
}
