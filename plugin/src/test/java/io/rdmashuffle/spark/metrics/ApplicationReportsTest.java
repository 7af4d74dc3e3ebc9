// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.metrics.ExecutorReport.State;
import io.rdmashuffle.store.ShuffleCounter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.util.kvstore.InMemoryStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class ApplicationReportsTest {
    private final ReportStore store = new ReportStore(new InMemoryStore());
    private final List<ExecutorReport> told = new ArrayList<>();
    private final AtomicLong nanos = new AtomicLong();
    private final ApplicationReports reports =
            new ApplicationReports(store, told::add, Duration.ofSeconds(60), () -> 7_000, nanos::get);

    private static ExecutorReport shm(String executorId, long bytes, long used) {
        return TestReports.kept(
                executorId, false, Map.of(ShuffleCounter.SHM_BYTES, bytes, ShuffleCounter.POOL_USED_BYTES, used));
    }

    private void after(long seconds) {
        nanos.addAndGet(Duration.ofSeconds(seconds).toNanos());
    }

    private State stateOf(String executorId) {
        return store.reports().stream()
                .filter(report -> report.executorId().equals(executorId))
                .findAny()
                .orElseThrow()
                .state();
    }

    @Test
    void sumsKeepWhatTheLostHadCountedButNotWhatTheyHeld() {
        reports.take(shm("1", 100, 10));
        reports.take(shm("2", 200, 20));
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(300);
        assertThat(reports.totals().get(ShuffleCounter.POOL_USED_BYTES)).isEqualTo(30);
        assertThat(reports.totals().readLatencies().total()).isEqualTo(12);

        reports.removed("1");
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(300);
        assertThat(reports.totals().get(ShuffleCounter.POOL_USED_BYTES)).isEqualTo(20);
        assertThat(stateOf("1")).isEqualTo(State.LOST);
        assertThat(stateOf("2")).isEqualTo(State.RUNNING);
    }

    @Test
    void anExecutorThatSaysThatItStopsIsNotLost() {
        reports.take(shm("1", 100, 10));
        reports.take(TestReports.kept("1", true, Map.of(ShuffleCounter.SHM_BYTES, 150L)));
        reports.removed("1");
        assertThat(stateOf("1")).isEqualTo(State.STOPPED);

        reports.take(shm("2", 1, 1));
        reports.removed("2");
        reports.take(shm("2", 2, 1));
        assertThat(stateOf("2")).isEqualTo(State.LOST);
        reports.take(TestReports.kept("2", true, Map.of(ShuffleCounter.SHM_BYTES, 3L)));
        assertThat(stateOf("2")).isEqualTo(State.STOPPED);
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(153);
    }

    /** The driver asks everyone at the end, and takes in the answers late. */
    @Test
    void anOlderAnswerOfAnExecutorThatHasStoppedSaysNothing() {
        reports.take(shm("1", 90, 10));
        reports.take(TestReports.kept("1", true, Map.of(ShuffleCounter.SHM_BYTES, 150L)));
        reports.take(shm("1", 100, 10));
        assertThat(stateOf("1")).isEqualTo(State.STOPPED);
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(150);
        assertThat(told).last().extracting(ExecutorReport::state).isEqualTo(State.STOPPED);
    }

    @Test
    void anExecutorThatReportsFirstAfterItsRemovalIsLost() {
        reports.removed("1");
        reports.take(shm("1", 100, 10));
        reports.take(shm("1", 110, 10));
        assertThat(stateOf("1")).isEqualTo(State.LOST);
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(110);
        assertThat(reports.totals().get(ShuffleCounter.POOL_USED_BYTES)).isZero();
    }

    @Test
    void listenersHearOfChangesNotMoreOftenThanTheInterval() {
        reports.take(shm("1", 100, 10));
        reports.take(shm("1", 110, 10));
        assertThat(told).hasSize(1);
        after(59);
        reports.take(shm("1", 120, 10));
        assertThat(told).hasSize(1);
        after(1);
        reports.take(shm("1", 120, 10));
        assertThat(told).hasSize(2);
        after(60);
        reports.take(shm("1", 120, 10));
        assertThat(told).as("nothing has changed").hasSize(2);
        reports.removed("1");
        assertThat(told).hasSize(3);
        assertThat(told.get(2).state()).isEqualTo(State.LOST);
    }

    @Test
    void manyExecutorsMakeNotMoreThanAnEventASecond() {
        for (int i = 0; i < 1000; i++) {
            reports.take(shm("" + i, 1, 0));
        }
        assertThat(told).hasSize(1000);
        after(999);
        reports.take(shm("3", 2, 0));
        assertThat(told).hasSize(1000);
        after(1);
        reports.take(shm("3", 2, 0));
        assertThat(told).hasSize(1001);
    }

    @Test
    void theRestIsToldInTheEnd() {
        reports.take(shm("1", 100, 10));
        reports.take(shm("2", 100, 10));
        reports.take(shm("1", 110, 10));
        List<ExecutorReport> rest = new ArrayList<>();
        reports.tellRest(rest::add);
        assertThat(rest).hasSize(1);
        assertThat(rest.get(0).get(ShuffleCounter.SHM_BYTES)).isEqualTo(110);
        reports.tellRest(rest::add);
        assertThat(rest).hasSize(1);
    }

    @Test
    void onlySoManyLostExecutorsAreKeptButAllTheyCounted() {
        int executors = 3 * ApplicationReports.MAX_ENDED;
        for (int i = 0; i < executors; i++) {
            reports.take(shm("" + i, 1, 5));
            reports.removed("" + i);
        }
        assertThat(store.reports()).as("and one for all others").hasSize(ApplicationReports.MAX_ENDED + 1);
        assertThat(store.reports().stream()
                        .mapToLong(report -> report.get(ShuffleCounter.SHM_BYTES))
                        .sum())
                .isEqualTo(executors);
        assertThat(reports.totals().get(ShuffleCounter.SHM_BYTES)).isEqualTo(executors);
        assertThat(reports.totals().get(ShuffleCounter.POOL_USED_BYTES)).isZero();
        assertThat(reports.totals().readLatencies().total()).isEqualTo(6L * executors);
    }
}
