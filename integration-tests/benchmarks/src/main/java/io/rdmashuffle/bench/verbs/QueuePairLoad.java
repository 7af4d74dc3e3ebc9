// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Queue pairs as they are: a thread posts and polls without ever sleeping, as perftest does.
 *
 * <p><b>Threading:</b> one thread measures; where the other side has to do something, a thread of the run does it.
 *
 * <p><b>Ownership:</b> owns two queue pairs.
 */
final class QueuePairLoad implements Load {
    private final QueuePairs pairs;
    private final int maxDepth;

    /** Connects; memory of each side is depth times bytes of the largest run. */
    QueuePairLoad(InetAddress address, long regionBytes, int maxDepth) throws Exception {
        this.pairs = new QueuePairs(address, regionBytes, maxDepth);
        this.maxDepth = maxDepth;
    }

    @Override
    public Measured run(Operation operation, int bytes, int depth, int count) throws Exception {
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        Thread receiver = null;
        try (SendRequests chain = new SendRequests(depth, 1);
                WorkCompletions completions = new WorkCompletions(depth)) {
            if (operation == Operation.SEND) {
                Receiver receives = new Receiver(bytes, depth, count);
                receives.post(Math.min(count, 2 * depth));
                receiver = start(receives, failure);
            }
            Garbage garbage = Garbage.ofThisThread();
            long started = System.nanoTime();
            drive(operation, bytes, count, chain, completions);
            long allocated = garbage.bytes();
            if (receiver != null) {
                receiver.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
            }
            long nanos = System.nanoTime() - started;
            Throwable failed = failure.get();
            if (failed != null) {
                throw new IllegalStateException(failed);
            }
            return new Measured(nanos, allocated);
        }
    }

    /** Keeps the chain's capacity of operations outstanding until {@code count} are complete. */
    private void drive(Operation operation, int bytes, int count, SendRequests chain, WorkCompletions completions) {
        QueuePairs.Side client = pairs.client;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        int posted = 0;
        chain.clear();
        while (posted < count && !chain.isFull()) {
            add(chain, operation, bytes, chain.size());
            posted++;
        }
        client.pair().post(chain);
        int done = 0;
        while (done < count) {
            int polled = client.completions().poll(completions);
            chain.clear();
            for (int i = 0; i < polled; i++) {
                requireSuccess(completions, i);
                if (posted < count) {
                    add(chain, operation, bytes, (int) completions.workRequestId(i));
                    posted++;
                }
            }
            done += polled;
            if (chain.size() > 0 && client.pair().post(chain) != chain.size()) {
                throw new IllegalStateException("the queue is full");
            }
            if (polled == 0 && System.nanoTime() - deadline > 0) {
                throw new IllegalStateException(operation + " did not end within " + LIMIT_SECONDS + " s");
            }
        }
    }

    private void add(SendRequests chain, Operation operation, int bytes, int slot) {
        long offset = (long) slot * bytes;
        long local = pairs.client.at(offset);
        int key = pairs.client.region().localKey();
        MemoryRegion target = pairs.server.region();
        switch (operation) {
            case READ -> chain.read(slot, local, bytes, key, target.address() + offset, target.remoteKey(), true);
            case WRITE -> chain.write(slot, local, bytes, key, target.address() + offset, target.remoteKey(), true);
            case SEND -> chain.send(slot, local, bytes, key, true);
            case FETCH_AND_ADD ->
                chain.fetchAndAdd(slot, local, key, target.address() + offset, target.remoteKey(), 1)
                        .signaled();
        }
    }

    static void requireSuccess(WorkCompletions completions, int index) {
        if (!completions.succeeded(index)) {
            throw new IllegalStateException(
                    "operation " + completions.workRequestId(index) + " ended with " + completions.status(index));
        }
    }

    private static Thread start(Runnable what, AtomicReference<@Nullable Throwable> failure) {
        Thread thread = new Thread(what, "bench-receiver");
        thread.setDaemon(true);
        thread.setUncaughtExceptionHandler((ended, failed) -> failure.compareAndSet(null, failed));
        thread.start();
        return thread;
    }

    /** The other side of SEND: takes messages and posts their receives again. */
    private final class Receiver implements Runnable {
        private final int bytes;
        private final int count;
        private final ReceiveRequests chain = new ReceiveRequests(2 * maxDepth);
        private final WorkCompletions completions;
        private int posted;

        Receiver(int bytes, int depth, int count) {
            this.bytes = bytes;
            this.count = count;
            this.completions = new WorkCompletions(depth);
        }

        void post(int receives) {
            chain.clear();
            for (int i = 0; i < receives; i++) {
                add(i);
            }
            pairs.server.pair().post(chain);
        }

        private void add(int slot) {
            // Two receives share a slot of memory: what arrives is not looked at.
            chain.add(
                    slot,
                    pairs.server.at((long) (slot / 2) * bytes),
                    bytes,
                    pairs.server.region().localKey());
            posted++;
        }

        @Override
        public void run() {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
            try (chain;
                    completions) {
                for (int done = 0; done < count; ) {
                    int polled = pairs.server.completions().poll(completions);
                    chain.clear();
                    for (int i = 0; i < polled; i++) {
                        requireSuccess(completions, i);
                        if (posted < count) {
                            add((int) completions.workRequestId(i));
                        }
                    }
                    if (chain.size() > 0) {
                        pairs.server.pair().post(chain);
                    }
                    done += polled;
                    if (polled == 0 && System.nanoTime() - deadline > 0) {
                        throw new IllegalStateException("messages did not arrive within " + LIMIT_SECONDS + " s");
                    }
                }
            }
        }
    }

    /**
     * Returns the nanoseconds of {@code count} operations: a round trip of READ and FETCH_AND_ADD, half a round trip of
     * WRITE and SEND.
     */
    @Override
    public long[] latencies(Operation operation, int bytes, int count) throws Exception {
        long[] nanos = new long[count];
        if (operation == Operation.READ || operation == Operation.FETCH_AND_ADD) {
            for (int i = 0; i < count; i++) {
                nanos[i] = run(operation, bytes, 1, 1).nanos();
            }
            return nanos;
        }
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        try (PingPong ping = PingPong.of(operation, pairs.client, pairs.server, bytes);
                PingPong pong = PingPong.of(operation, pairs.server, pairs.client, bytes)) {
            Thread other = start(
                    () -> {
                        for (int i = 1; i <= count; i++) {
                            pong.await(i);
                            pong.send(i);
                        }
                    },
                    failure);
            for (int i = 1; i <= count; i++) {
                long started = System.nanoTime();
                ping.send(i);
                ping.await(i);
                nanos[i - 1] = (System.nanoTime() - started) / 2;
            }
            other.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
        }
        Throwable failed = failure.get();
        if (failed != null) {
            throw new IllegalStateException(failed);
        }
        return nanos;
    }

    @Override
    public void close() {
        pairs.close();
    }
}
