// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;
import io.rdmashuffle.verbs.async.LocalSlice;
import io.rdmashuffle.verbs.async.RemoteRegion;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous API with futures: operations are started again where their futures complete.
 *
 * <p><b>Threading:</b> one thread measures; operations go on on the progress threads.
 *
 * <p><b>Ownership:</b> owns two endpoints with a connection between them.
 */
final class FuturesLoad implements Load {
    private final Connected sides;
    private final RemoteRegion target;

    /** Connects, as {@link Connected} has it. */
    FuturesLoad(InetAddress address, long regionBytes, int maxDepth) throws Exception {
        sides = new Connected(address, regionBytes, maxDepth);
        target = sides.remote().describe();
    }

    @Override
    public Measured run(Operation operation, int bytes, int depth, int count) throws Exception {
        return Measured.of(new FutureFlow(operation, bytes, depth, count));
    }

    /** Keeps {@code depth} operations outstanding until enough have been started. */
    @SuppressWarnings("FutureReturnValueIgnored") // what fails is kept by ended()
    private final class FutureFlow implements Flow {
        private final Operation operation;
        private final int bytes;
        private final int depth;
        private final AtomicInteger toStart;
        private final AtomicInteger toReceive;
        private final CountDownLatch left;
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

        FutureFlow(Operation operation, int bytes, int depth, int count) {
            this.operation = operation;
            this.bytes = bytes;
            this.depth = depth;
            this.toStart = new AtomicInteger(count);
            this.toReceive = new AtomicInteger(operation == Operation.SEND ? count : 0);
            this.left = new CountDownLatch(count + toReceive.get());
        }

        @Override
        public void start() {
            for (int i = 0; i < Connected.receives(depth); i++) {
                receive(i % depth);
            }
            for (int i = 0; i < depth; i++) {
                next(i);
            }
        }

        private void receive(int slot) {
            if (toReceive.getAndDecrement() > 0) {
                sides.accepted()
                        .receive(new LocalSlice(sides.remote(), (long) slot * bytes, bytes))
                        .whenComplete((done, failed) -> ended(failed, () -> receive(slot)));
            }
        }

        private void next(int slot) {
            if (toStart.getAndDecrement() > 0) {
                post(slot).whenComplete((done, failed) -> ended(failed, () -> next(slot)));
            }
        }

        private void ended(@Nullable Throwable failed, Runnable next) {
            if (failed != null) {
                failure.compareAndSet(null, failed);
            } else {
                next.run();
            }
            left.countDown();
        }

        private CompletableFuture<?> post(int slot) {
            long offset = (long) slot * bytes;
            LocalSlice slice = sides.local().slice(offset, bytes);
            return switch (operation) {
                case READ -> sides.connection().read(slice, target.slice(offset, bytes));
                case WRITE -> sides.connection().write(slice, target.slice(offset, bytes));
                case SEND -> sides.connection().send(slice);
                case FETCH_AND_ADD -> sides.connection().fetchAndAdd(target.slice(offset, bytes), 1);
            };
        }

        @Override
        public void await() throws Exception {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
            while (!left.await(1, TimeUnit.SECONDS)) {
                Throwable failed = failure.get();
                if (failed != null) {
                    throw new ExecutionException(failed);
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new IllegalStateException(operation + " did not end within " + LIMIT_SECONDS + " s");
                }
            }
            Throwable failed = failure.get();
            if (failed != null) {
                throw new ExecutionException(failed);
            }
        }
    }

    @Override
    public void close() {
        sides.close();
    }
}
