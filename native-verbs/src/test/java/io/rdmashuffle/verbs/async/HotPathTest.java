// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.rdmashuffle.verbs.LeakCheck;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** What operations cost in garbage, on the threads that post and that complete them. */
@Tag("rdma")
@Timeout(300)
@ExtendWith(LeakCheck.class)
class HotPathTest {
    private static final int DEPTH = 16;
    private static final int BYTES = 1024;
    private static final int WARM_UP = 3_000;
    private static final int OPERATIONS = 5_000;
    /** Bytes of a query of the threads, and of background work in an idle minute. */
    private static final double MAX_BYTES = 1;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ConnectedEndpoints endpoints;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private ConnectedEndpoints.Pair pair;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion here;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private LocalRegion there;

    private final Rounds rounds = new Rounds();

    @BeforeEach
    void connect() throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT);
        here = endpoints.client.allocate(DEPTH * BYTES);
        there = endpoints.server.allocate(2 * DEPTH * BYTES);
        pair = endpoints.connect();
    }

    @AfterEach
    void close() {
        if (endpoints != null) { // null if the test was skipped
            endpoints.close();
        }
    }

    /** Posts again until enough have been posted. */
    private static final class Rounds implements PreparedOperation.Handler {
        private final AtomicInteger toPost = new AtomicInteger();
        private final AtomicInteger left = new AtomicInteger();
        private volatile CompletableFuture<Void> done = new CompletableFuture<>();

        void next(PreparedOperation operation) {
            if (toPost.getAndDecrement() > 0) {
                operation.post();
            }
        }

        @Override
        public void succeeded(PreparedOperation operation) {
            next(operation);
            if (left.decrementAndGet() == 0) {
                done.complete(null);
            }
        }

        @Override
        public void failed(PreparedOperation operation, Throwable reason) {
            done.completeExceptionally(reason);
        }

        /** Posts {@code count} operations, and waits for them. */
        void run(List<PreparedOperation> operations, int count) throws Exception {
            toPost.set(count);
            left.set(count);
            done = new CompletableFuture<>();
            for (int i = 0; i < operations.size(); i++) {
                next(operations.get(i));
            }
            ConnectedEndpoints.get(done);
        }
    }

    /** Work with a number of operations. */
    private interface Work {
        void run(int operations) throws Exception;
    }

    /** Returns what an operation makes of garbage, on the thread that posts and on all progress threads. */
    private static double garbage(String what, Work work) throws Exception {
        work.run(WARM_UP);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] progress = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-progress-"))
                .mapToLong(Thread::getId)
                .toArray();
        assertThat(progress).as("progress threads").hasSizeGreaterThanOrEqualTo(2);
        long before = Arrays.stream(threads.getThreadAllocatedBytes(progress)).sum();
        assertThat(before).as("allocation is measured").isPositive();
        long callerBefore = threads.getCurrentThreadAllocatedBytes();
        work.run(OPERATIONS);
        long byCaller = threads.getCurrentThreadAllocatedBytes() - callerBefore;
        long byProgress =
                Arrays.stream(threads.getThreadAllocatedBytes(progress)).sum() - before;
        System.out.printf(
                "%d %s: %d bytes of garbage by the progress threads, %d by the caller%n",
                OPERATIONS, what, byProgress, byCaller);
        return (byProgress + byCaller) / (double) OPERATIONS;
    }

    private double garbage(String what, List<PreparedOperation> operations) throws Exception {
        return garbage(what, count -> rounds.run(operations, count));
    }

    private List<PreparedOperation> operations(int count, IntFunction<PreparedOperation> prepare) {
        List<PreparedOperation> operations = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            operations.add(prepare.apply(i));
        }
        return operations;
    }

    private LocalSlice local(int slot) {
        return here.slice((long) slot * BYTES, BYTES);
    }

    @Test
    void readsMakeNoGarbage() throws Exception {
        assertThat(garbage(
                        "READs", operations(DEPTH, i -> pair.client().prepareRead(local(i), there.describe(), rounds))))
                .isLessThan(MAX_BYTES);
    }

    @Test
    void writesMakeNoGarbage() throws Exception {
        assertThat(garbage(
                        "WRITEs",
                        operations(DEPTH, i -> pair.client().prepareWrite(local(i), there.describe(), rounds))))
                .isLessThan(MAX_BYTES);
    }

    @Test
    void atomicsMakeNoGarbage() throws Exception {
        endpoints.device.assume(endpoints.device.limits().atomics(), "atomics");
        assertThat(garbage(
                        "FETCH_AND_ADDs",
                        operations(DEPTH, i -> pair.client().prepareFetchAndAdd(there.describe(), 1, rounds))))
                .isLessThan(MAX_BYTES);
    }

    /** Counted are SENDs, each of which has a receive. */
    @Test
    void messagesMakeNoGarbage() throws Exception {
        endpoints.device.assumeInfiniBand("SENDs that wait for a receive");
        Rounds arriving = new Rounds();
        List<PreparedOperation> receives = operations(
                2 * DEPTH, i -> pair.server().prepareReceive(there.slice((long) i * BYTES, BYTES), arriving));
        List<PreparedOperation> sends = operations(DEPTH, i -> pair.client().prepareSend(local(i), rounds));
        assertThat(garbage("SENDs", count -> {
                    arriving.toPost.set(Integer.MAX_VALUE);
                    arriving.left.set(Integer.MAX_VALUE);
                    for (int i = 0; i < receives.size(); i++) {
                        if (!receives.get(i).isOutstanding()) {
                            receives.get(i).post();
                        }
                    }
                    rounds.run(sends, count);
                }))
                .isLessThan(MAX_BYTES);
        assertThat(arriving.left).hasValueLessThanOrEqualTo(Integer.MAX_VALUE - OPERATIONS + DEPTH);
    }

    /** The thread that posts is another one: it waits for each, and the progress thread sleeps between them. */
    @Test
    @Tag("nightly")
    void operationsOfAnotherThreadMakeNoGarbage() throws Exception {
        Rounds one = new Rounds();
        List<PreparedOperation> read = operations(1, i -> pair.client().prepareRead(local(i), there.describe(), one));
        PreparedOperation operation = read.get(0);
        Work work = count -> {
            one.toPost.set(0);
            one.left.set(Integer.MAX_VALUE);
            for (int i = 0; i < count; i++) {
                operation.at(0, i % BYTES).post();
                while (operation.isOutstanding()) {
                    Thread.onSpinWait();
                }
            }
        };
        assertThat(garbage("READs, one by one", work)).isLessThan(MAX_BYTES);
        assertThat(one.done).isNotDone();
    }
}
