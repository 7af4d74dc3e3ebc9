// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class WaitingRequestsTest {
    private static final Request SHORT = new Request(Purpose.INDEX, 64, 64);
    private static final Request LONG = new Request(Purpose.INDEX, 128, 256);

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final ReentrantLock lock = new ReentrantLock();
    private final WaitingRequests waiting = new WaitingRequests(lock);
    private Pool pool;
    private Lease lease;

    @BeforeEach
    void open() throws InterruptedException {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
        lease = TestPools.reserve(pool, Purpose.INDEX, 64);
    }

    @AfterEach
    void close() {
        lease.close();
        pool.close();
    }

    /** What a thread got that has waited, and whether it was interrupted then. */
    private record End(@Nullable Lease lease, boolean interrupted) {}

    /** A thread that waits, as long as the test runs. */
    private record Waiter(Thread thread, CompletableFuture<End> end) {
        End get() throws Exception {
            return end.get(30, TimeUnit.SECONDS);
        }
    }

    private Waiter start(Request request) {
        CompletableFuture<End> end = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            lock.lock();
            try {
                Lease got = waiting.await(request, Duration.ofDays(1).toNanos());
                end.complete(new End(got, Thread.interrupted()));
            } catch (InterruptedException e) {
                end.completeExceptionally(e);
            } finally {
                lock.unlock();
            }
        });
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        return new Waiter(thread, end);
    }

    private void locked(Runnable action) {
        lock.lock();
        try {
            action.run();
        } finally {
            lock.unlock();
        }
    }

    private List<Request> asked(Function<Request, @Nullable Lease> taker) {
        List<Request> asked = new ArrayList<>();
        locked(() -> waiting.serve(request -> {
            asked.add(request);
            return taker.apply(request);
        }));
        return asked;
    }

    @Test
    void freeBytesGoToRequestsThatFit() throws Exception {
        Waiter first = start(LONG);
        Waiter second = start(SHORT);
        assertThat(asked(request -> request.equals(SHORT) ? lease : null)).containsExactly(LONG, SHORT);
        assertThat(second.get()).isEqualTo(new End(lease, false));
        assertThat(asked(request -> null)).as("one waits on").containsExactly(LONG);
        assertThat(first.end()).isNotDone();
        assertThat(asked(request -> lease)).containsExactly(LONG);
        assertThat(first.get()).isEqualTo(new End(lease, false));
        assertThat(asked(request -> lease)).isEmpty();
    }

    /** It cannot lease before the lock is free: memory released meanwhile is for others. */
    @Test
    void nobodyIsGivenTwoLeases() throws Exception {
        Waiter waiter = start(SHORT);
        locked(() -> {
            assertThat(asked(request -> lease)).containsExactly(SHORT);
            assertThat(asked(request -> lease)).isEmpty();
        });
        assertThat(waiter.get().lease()).isSameAs(lease);
    }

    @Test
    void allLookAgainWhenTheyAreWoken() throws Exception {
        Waiter first = start(LONG);
        Waiter second = start(SHORT);
        locked(waiting::wakeAll);
        assertThat(first.get()).isEqualTo(new End(null, false));
        assertThat(second.get()).isEqualTo(new End(null, false));
        assertThat(waiting.waitedNanos()).isPositive();
    }

    @Test
    void theEndOfTheTimeBringsNothingAndCountsAsWaiting() throws Exception {
        lock.lock();
        try {
            long nanos = 1_000_000;
            assertThat(waiting.await(SHORT, nanos)).isNull();
            assertThat(waiting.waitedNanos()).isGreaterThanOrEqualTo(nanos);
            assertThat(waiting.await(SHORT, 0)).isNull();
        } finally {
            lock.unlock();
        }
        assertThat(asked(request -> lease)).as("requests that wait").isEmpty();
    }

    @Test
    void anInterruptEndsWaiting() {
        Waiter waiter = start(SHORT);
        waiter.thread().interrupt();
        assertThatThrownBy(waiter::get)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        assertThat(asked(request -> lease)).as("requests that wait").isEmpty();
    }

    /** Otherwise the lease would never come back. */
    @Test
    void interruptKeepsAGrantedLease() throws Exception {
        Waiter waiter = start(SHORT);
        locked(() -> {
            waiter.thread().interrupt();
            while (!lock.hasQueuedThread(waiter.thread())) {
                Thread.onSpinWait();
            }
            assertThat(asked(request -> lease)).containsExactly(SHORT);
        });
        assertThat(waiter.get()).isEqualTo(new End(lease, true));
    }

    @Test
    void thePoolsEndWaitsForWorkEvenIfItIsInterrupted() throws Exception {
        Condition ended = lock.newCondition();
        boolean[] underWay = {true};
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread thread = new Thread(() -> locked(() -> {
            WorkEnd.await(ended, () -> underWay[0]);
            interrupted.complete(!underWay[0] && Thread.interrupted());
        }));
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        thread.interrupt();
        locked(ended::signalAll);
        assertThat(interrupted).isNotDone();
        locked(() -> {
            underWay[0] = false;
            ended.signalAll();
        });
        assertThat(interrupted.get(30, TimeUnit.SECONDS))
                .as("still interrupted")
                .isTrue();
    }

    @Test
    void noWaitWithoutGrowthUnderWay() {
        locked(() -> WorkEnd.await(lock.newCondition(), () -> false));
        assertThat(Thread.interrupted()).isFalse();
    }
}
