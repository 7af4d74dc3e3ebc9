// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
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
class InFlightReadsTest {
    private static final int BYTES = 128 << 10;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final InFlightReads reads = new InFlightReads(2 * BYTES);
    private final List<ReadRequest> started = new ArrayList<>();
    private final List<Reason> failures = new ArrayList<>();
    private Pool pool;

    @BeforeEach
    void open() {
        pool = TestPools.create(directory, 1 << 20, 1 << 20);
    }

    @AfterEach
    void close() {
        assertThat(reads.load().bytesInFlight()).isZero();
        assertThat(pool.usage().leases()).isZero();
        pool.close();
    }

    private final class Ends implements ReadRequest.Listener {
        @Override
        public void succeeded(ReadRequest request) {
            request.target().close();
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            failures.add(failure.reason());
        }
    }

    private ReadRequest request(int bytes) throws InterruptedException {
        return request(bytes, System.nanoTime() + TimeUnit.MINUTES.toNanos(1));
    }

    private ReadRequest request(int bytes, long deadlineNanos) throws InterruptedException {
        Lease target = TestPools.reserve(pool, Purpose.RECEIVE, bytes);
        return new ReadRequest(List.of(new RemoteSlice(0, 0, bytes)), target, deadlineNanos, new Ends());
    }

    private ReadRequest admit(int bytes, boolean isStarted) throws InterruptedException {
        ReadRequest request = request(bytes);
        assertThat(reads.admit(request, started::add)).isEqualTo(isStarted);
        return request;
    }

    private void succeed(ReadRequest request) {
        reads.succeed(request, System.nanoTime());
    }

    @Test
    void readsBeyondTheBoundStartInTheirOrderWhenOthersEnd() throws Exception {
        ReadRequest first = admit(BYTES, true);
        ReadRequest second = admit(BYTES, true);
        ReadRequest large = admit(2 * BYTES, false);
        ReadRequest small = admit(BYTES, false);
        assertThat(started).containsExactly(first, second);
        succeed(first);
        assertThat(started).as("a small one does not overtake").hasSize(2);
        reads.fail(second, Reason.PEER_GONE, "as the test wishes");
        assertThat(started).containsExactly(first, second, large);
        succeed(large);
        assertThat(started).containsExactly(first, second, large, small);
        succeed(small);
        succeed(admit(BYTES, true));
    }

    /** Lookups would wait for blocks, one after another. */
    @Test
    void shortOnesThatFitDoNotWait() throws Exception {
        ReadRequest first = admit(BYTES, true);
        ReadRequest large = admit(2 * BYTES, false);
        ReadRequest lookup = admit(100, true);
        assertThat(started).containsExactly(first, lookup);
        succeed(first);
        succeed(lookup);
        assertThat(started).containsExactly(first, lookup, large);
        succeed(large);
    }

    /** With the little time that is left, a sound peer would seem to hang. */
    @Test
    void readThatWaitedForHalfOfItsTimeHadNoRoom() throws Exception {
        ReadRequest first = admit(2 * BYTES, true);
        long millis = 200;
        ReadRequest late = request(BYTES, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
        assertThat(reads.admit(late, started::add)).isFalse();
        Thread.sleep(millis / 2 + 1);
        succeed(first);
        assertThat(failures).containsExactly(Reason.NO_ROOM);
        assertThat(started).containsExactly(first);
    }

    @Test
    void readThatNobodyWantsAnyMoreIsNotStarted() throws Exception {
        ReadRequest first = admit(2 * BYTES, true);
        Lease target = TestPools.reserve(pool, Purpose.RECEIVE, BYTES);
        ReadRequest.Listener gone = new ReadRequest.Listener() {
            @Override
            public void succeeded(ReadRequest request) {
                throw new AssertionError("read");
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException failure) {
                failures.add(failure.reason());
            }

            @Override
            public boolean isWanted() {
                return false;
            }
        };
        RemoteSlice slice = new RemoteSlice(0, 0, BYTES);
        reads.admit(new ReadRequest(List.of(slice), target, Long.MAX_VALUE, gone), started::add);
        succeed(first);
        assertThat(failures).containsExactly(Reason.CLOSED);
        assertThat(started).containsExactly(first);
    }

    @Test
    void oneLargerThanTheBoundWaitsForAllOthers() throws Exception {
        ReadRequest first = admit(BYTES, true);
        ReadRequest huge = admit(3 * BYTES, false);
        succeed(first);
        assertThat(started).containsExactly(first, huge);
        succeed(huge);
    }

    /** The path is not at fault: its reader may use it again at once. */
    @Test
    void readWhoseDeadlinePassesMeanwhileHadNoRoom() throws Exception {
        ReadRequest first = admit(2 * BYTES, true);
        ReadRequest late = request(BYTES, System.nanoTime());
        assertThat(reads.admit(late, started::add)).isFalse();
        ReadRequest next = admit(BYTES, false);
        succeed(first);
        assertThat(failures).containsExactly(Reason.NO_ROOM);
        assertThat(started).containsExactly(first, next);
        succeed(next);
    }

    /** Each ends on the stack of the one before, if ends were not counted. */
    @Test
    void thousandsThatFailAtOnceNeedNoStack() throws Exception {
        ReadRequest first = admit(2 * BYTES, true);
        List<ReadRequest> failing = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            ReadRequest request =
                    new ReadRequest(List.of(new RemoteSlice(0, 0, BYTES)), first.target(), Long.MAX_VALUE, new Ends());
            failing.add(request);
            assertThat(reads.admit(request, it -> reads.abandon(it, gone()))).isFalse();
        }
        succeed(first);
        assertThat(failures).hasSameSizeAs(failing);
    }

    @Test
    void oneThatCannotBeStartedFailsAlone() throws Exception {
        ReadRequest first = admit(2 * BYTES, true);
        ReadRequest broken = request(BYTES);
        reads.admit(broken, it -> {
            throw new IllegalStateException("as the test wishes");
        });
        ReadRequest next = admit(BYTES, false);
        succeed(first);
        assertThat(failures).containsExactly(Reason.TRANSPORT_ERROR);
        succeed(next);
    }

    private static ReadFailedException gone() {
        return new ReadFailedException(Reason.PEER_GONE, "as the test wishes");
    }

    @Test
    void readsOfManyThreadsAllEndWithinTheBound() throws Exception {
        int count = 20_000;
        BlockingQueue<ReadRequest> device = new LinkedBlockingQueue<>();
        CountDownLatch ended = new CountDownLatch(2 * count);
        AtomicLong most = new AtomicLong();
        ReadRequest.Listener listener = new ReadRequest.Listener() {
            @Override
            public void succeeded(ReadRequest request) {
                ended.countDown();
            }

            @Override
            public void failed(ReadRequest request, ReadFailedException failure) {
                throw new AssertionError(failure);
            }
        };
        try (Lease target = TestPools.reserve(pool, Purpose.RECEIVE, 2 * BYTES)) {
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 2; t++) {
                threads.add(new Thread(() -> {
                    for (int i = 0; i < count; i++) {
                        RemoteSlice slice = new RemoteSlice(0, 0, 1 + i % (2 * BYTES));
                        reads.admit(new ReadRequest(List.of(slice), target, Long.MAX_VALUE, listener), device::add);
                    }
                }));
                threads.add(new Thread(() -> {
                    while (ended.getCount() > 0) {
                        ReadRequest next = device.poll();
                        if (next != null) {
                            most.accumulateAndGet(reads.load().bytesInFlight(), Math::max);
                            succeed(next);
                        }
                    }
                }));
            }
            threads.forEach(Thread::start);
            assertThat(ended.await(50, TimeUnit.SECONDS)).isTrue();
            for (Thread each : threads) {
                each.join();
            }
        }
        assertThat(most.get()).isPositive().isLessThanOrEqualTo(2 * BYTES);
    }
}
