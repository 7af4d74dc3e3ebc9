// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.registry.Receipt;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import io.rdmashuffle.spark.metrics.TestReports;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class ExecutorReporterTest {
    private final AtomicLong nanos = new AtomicLong();
    private final List<Report> sent = new ArrayList<>();
    private long counted = 1;
    private Receipt answer = Receipt.TAKEN;
    private int executors = 3;
    private long urgent = 64;

    private final ExecutorReporter reporter = new ExecutorReporter(
            occasion ->
                    TestReports.report("1", occasion == Occasion.STOPPED, Map.of(ShuffleCounter.SHM_BYTES, counted)),
            this::take,
            () -> executors,
            () -> urgent,
            Duration.ofSeconds(10),
            nanos::get);

    private Receipt take(Report report) {
        sent.add(report);
        return answer;
    }

    private void runFor(int seconds) {
        for (int i = 0; i < seconds; i++) {
            reporter.run();
            nanos.addAndGet(Duration.ofSeconds(1).toNanos());
        }
    }

    @Test
    void reportsAtOnceAndThenPerInterval() {
        runFor(1);
        assertThat(sent).hasSize(1);
        counted = 2;
        runFor(9);
        assertThat(sent).hasSize(1);
        runFor(10);
        assertThat(sent).hasSize(2);
        runFor(100);
        assertThat(sent).as("nothing has changed").hasSize(2);
    }

    @Test
    void urgentGrowthIsReportedWithinASecond() {
        runFor(1);
        counted = 2;
        urgent = 128;
        runFor(1);
        assertThat(sent).hasSize(2);
        counted = 3;
        urgent = 64;
        runFor(9);
        assertThat(sent).as("it has shrunk").hasSize(2);
        executors = 1000;
        urgent = 256;
        runFor(9);
        assertThat(sent).as("not every second, of a thousand").hasSize(2);
        runFor(10);
        assertThat(sent).hasSize(3);
    }

    @Test
    void unacknowledgedReportIsRepeated() {
        answer = Receipt.NONE;
        urgent = 0;
        runFor(30);
        assertThat(sent).hasSize(3);
        urgent = 64;
        runFor(30);
        assertThat(sent).as("each second").hasSize(3 + 30);
        answer = Receipt.TAKEN;
        runFor(9);
        assertThat(sent).hasSize(3 + 30 + 1);
    }

    @Test
    void manyExecutorsReportLessOften() {
        executors = 1000;
        for (int i = 0; i < 100; i++) {
            counted = i;
            runFor(1);
        }
        assertThat(sent).hasSize(5);
    }

    @Test
    void theLastReportComesOnceAndNothingAfterIt() {
        runFor(1);
        counted = 2;
        answer = Receipt.LEAVE_FILES;
        assertThat(reporter.reportLast()).isEqualTo(Receipt.LEAVE_FILES);
        assertThat(reporter.reportLast()).isEqualTo(Receipt.NONE);
        runFor(30);
        assertThat(sent).hasSize(2);
        assertThat(sent.get(1).last()).isTrue();
        assertThat(sent.get(1).counters()).containsEntry("SHM_BYTES", 2L);
    }
}
