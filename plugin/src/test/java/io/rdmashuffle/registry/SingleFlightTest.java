// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(60)
class SingleFlightTest {
    private static final Duration LONG = Duration.ofDays(1);

    private final SingleFlight flights = new SingleFlight();
    private final AtomicInteger ran = new AtomicInteger();
    private final CountDownLatch began = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);

    private void awaitOrFail(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Starts work that ends when the latch opens; returns when it has begun. */
    private CompletableFuture<Void> working() {
        CompletableFuture<Void> work = CompletableFuture.runAsync(() -> flights.run(
                "a",
                () -> {
                    ran.incrementAndGet();
                    began.countDown();
                    awaitOrFail(mayEnd);
                },
                LONG));
        awaitOrFail(began);
        return work;
    }

    @Test
    void workThatHasEndedIsDoneAgain() {
        flights.run("a", ran::incrementAndGet, LONG);
        flights.run("a", ran::incrementAndGet, LONG);
        assertThat(ran).hasValue(2);
    }

    @Test
    void concurrentCallersShareOneResult() throws Exception {
        CompletableFuture<Void> first = working();
        CompletableFuture<Boolean> second = new CompletableFuture<>();
        Thread waiter = new Thread(() -> {
            flights.run("a", ran::incrementAndGet, LONG);
            second.complete(first.isDone() || mayEnd.getCount() == 0);
        });
        waiter.setDaemon(true);
        waiter.start();
        while (waiter.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        assertThat(second).isNotDone();
        mayEnd.countDown();
        assertThat(second.get(30, TimeUnit.SECONDS)).isTrue();
        first.get(30, TimeUnit.SECONDS);
        assertThat(ran).hasValue(1);
    }

    @Test
    void otherWorkGoesOnMeanwhile() throws Exception {
        CompletableFuture<Void> first = working();
        flights.run("b", ran::incrementAndGet, LONG);
        assertThat(ran).hasValue(2);
        mayEnd.countDown();
        first.get(30, TimeUnit.SECONDS);
    }

    @Test
    void nobodyWaitsLongerThanItsOwnTimeout() throws Exception {
        CompletableFuture<Void> first = working();
        flights.run("a", ran::incrementAndGet, Duration.ofMillis(1));
        assertThat(ran).hasValue(1);
        assertThat(first).isNotDone();
        mayEnd.countDown();
        first.get(30, TimeUnit.SECONDS);
    }

    @Test
    void anInterruptEndsTheWaitAndStaysSet() throws Exception {
        CompletableFuture<Void> first = working();
        Thread.currentThread().interrupt();
        flights.run("a", ran::incrementAndGet, LONG);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(ran).hasValue(1);
        mayEnd.countDown();
        first.get(30, TimeUnit.SECONDS);
    }

    @Test
    void workThatFailsIsDoneAgain() {
        assertThatThrownBy(() -> flights.run(
                        "a",
                        () -> {
                            throw new IllegalStateException("on purpose");
                        },
                        LONG))
                .hasMessage("on purpose");
        flights.run("a", ran::incrementAndGet, LONG);
        assertThat(ran).hasValue(1);
    }
}
