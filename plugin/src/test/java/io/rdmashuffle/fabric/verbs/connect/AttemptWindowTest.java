// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many attempts to connect are under way as their times change. */
@Tag("unit")
@Timeout(30)
class AttemptWindowTest {
    private static final long TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(15);

    private final AttemptWindow window = new AttemptWindow(AttemptWindow.FIRST);

    @Test
    void quickAttemptsOpenItUpToItsLargest() {
        for (int i = 0; i < 1000; i++) {
            window.ended(i, i + AttemptWindow.QUICK_NANOS - 1);
        }
        assertThat(window.size()).isEqualTo(AttemptWindow.MAX);
    }

    @Test
    void attemptsBetweenQuickAndSlowChangeNothing() {
        window.ended(0, AttemptWindow.QUICK_NANOS);
        window.ended(0, AttemptWindow.SLOW_NANOS - 1);
        assertThat(window.size()).isEqualTo(AttemptWindow.FIRST);
    }

    @Test
    void slowAttemptsHalveItOnceForAllThatBeganTogether() {
        AttemptWindow full = new AttemptWindow(AttemptWindow.MAX);
        for (int i = 0; i < AttemptWindow.MAX; i++) {
            full.ended(i, 100 + AttemptWindow.SLOW_NANOS);
        }
        assertThat(full.size()).isEqualTo(AttemptWindow.MAX / 2);
        long next = 100 + AttemptWindow.SLOW_NANOS;
        full.ended(next, next + AttemptWindow.SLOW_NANOS);
        assertThat(full.size()).isEqualTo(AttemptWindow.MAX / 4);
    }

    @Test
    void oneIsAlwaysAllowed() {
        for (long second = 0; second < 100; second++) {
            window.ended(TimeUnit.SECONDS.toNanos(20 * second), TimeUnit.SECONDS.toNanos(20 * second) + TIMEOUT_NANOS);
        }
        assertThat(window.size()).isOne();
    }

    /**
     * Executors that share a resource with one attempt at a time, as on one machine: none times out, and the resource
     * is busy.
     */
    @ParameterizedTest
    @CsvSource({"2, 100", "50, 100", "200, 200"})
    void executorsShareWhatIsShort(int executors, int peers) {
        long serviceNanos = TimeUnit.MILLISECONDS.toNanos(7);
        AttemptWindow[] windows = new AttemptWindow[executors];
        int[] left = new int[executors];
        PriorityQueue<long[]> ends = new PriorityQueue<>((a, b) -> Long.compare(a[0], b[0]));
        int[] underWay = new int[executors];
        long free = 0;
        long worst = 0;
        for (int i = 0; i < executors; i++) {
            windows[i] = new AttemptWindow(AttemptWindow.FIRST);
            left[i] = peers;
            while (underWay[i] < windows[i].size() && left[i] > 0) {
                free = free + serviceNanos;
                ends.add(new long[] {free, 0, i});
                underWay[i]++;
                left[i]--;
            }
        }
        while (!ends.isEmpty()) {
            long[] ended = ends.remove();
            long now = ended[0];
            int of = (int) ended[2];
            worst = Math.max(worst, now - ended[1]);
            windows[of].ended(ended[1], now);
            underWay[of]--;
            while (underWay[of] < windows[of].size() && left[of] > 0) {
                free = Math.max(free, now) + serviceNanos;
                ends.add(new long[] {free, now, of});
                underWay[of]++;
                left[of]--;
            }
        }
        assertThat(free).as("always busy").isEqualTo(serviceNanos * executors * peers);
        assertThat(worst).as("the longest attempt").isLessThan(TIMEOUT_NANOS);
    }
}
