// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.bench.perftest.Perftest.Operation;
import io.rdmashuffle.verbs.async.LocalSlice;
import io.rdmashuffle.verbs.async.PreparedOperation;
import io.rdmashuffle.verbs.async.RemoteRegion;
import java.net.InetAddress;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous API with prepared operations: each is posted again by its handler.
 *
 * <p><b>Threading:</b> one thread measures; operations go on on the progress threads.
 *
 * <p><b>Ownership:</b> owns two endpoints with a connection between them.
 */
final class PreparedLoad implements Load {
    private final Connected sides;

    /** Connects, as {@link Connected} has it. */
    PreparedLoad(InetAddress address, long regionBytes, int maxDepth) throws Exception {
        sides = new Connected(address, regionBytes, maxDepth);
    }

    @Override
    public Measured run(Operation operation, int bytes, int depth, int count) throws Exception {
        return Measured.of(new PreparedFlow(operation, bytes, depth, count));
    }

    /** Posts an operation again until enough have been posted. */
    private static final class Again implements PreparedOperation.Handler {
        private final AtomicInteger toPost;
        private final AtomicInteger left;
        private final Thread waiting = Thread.currentThread();
        private volatile @Nullable Throwable failure;

        Again(int count) {
            this.toPost = new AtomicInteger(count);
            this.left = new AtomicInteger(count);
        }

        void post(PreparedOperation operation) {
            if (toPost.getAndDecrement() > 0) {
                operation.post();
            }
        }

        @Override
        public void succeeded(PreparedOperation operation) {
            post(operation);
            if (left.decrementAndGet() == 0) {
                LockSupport.unpark(waiting);
            }
        }

        @Override
        public void failed(PreparedOperation operation, Throwable reason) {
            failure = reason;
            LockSupport.unpark(waiting);
        }

        /** Waits without garbage. */
        void await(Operation operation) throws ExecutionException {
            long started = System.nanoTime();
            while (left.get() > 0) {
                Throwable failed = failure;
                if (failed != null) {
                    throw new ExecutionException(failed);
                }
                if (System.nanoTime() - started > TimeUnit.SECONDS.toNanos(LIMIT_SECONDS)) {
                    throw new IllegalStateException(operation + " did not end within " + LIMIT_SECONDS + " s");
                }
                LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
            }
        }
    }

    /** Keeps {@code depth} operations outstanding until enough have been posted. */
    private final class PreparedFlow implements Flow {
        private final Operation operation;
        private final Again posting;
        private final Again receiving;
        private final PreparedOperation[] operations;
        private final PreparedOperation[] receives;

        PreparedFlow(Operation operation, int bytes, int depth, int count) {
            this.operation = operation;
            this.posting = new Again(count);
            this.receiving = new Again(operation == Operation.SEND ? count : 0);
            this.operations = new PreparedOperation[depth];
            this.receives = new PreparedOperation[operation == Operation.SEND ? Connected.receives(depth) : 0];
            for (int i = 0; i < depth; i++) {
                operations[i] = prepare((long) i * bytes, bytes);
            }
            for (int i = 0; i < receives.length; i++) {
                LocalSlice slice = sides.remote().slice((long) (i % depth) * bytes, bytes);
                receives[i] = sides.accepted().prepareReceive(slice, receiving);
            }
        }

        private PreparedOperation prepare(long offset, int bytes) {
            LocalSlice slice = sides.local().slice(offset, bytes);
            RemoteRegion target = sides.remote().describe().slice(offset, bytes);
            return switch (operation) {
                case READ -> sides.connection().prepareRead(slice, target, posting);
                case WRITE -> sides.connection().prepareWrite(slice, target, posting);
                case SEND -> sides.connection().prepareSend(slice, posting);
                case FETCH_AND_ADD -> sides.connection().prepareFetchAndAdd(target, 1, posting);
            };
        }

        @Override
        public void start() {
            for (PreparedOperation receive : receives) {
                receiving.post(receive);
            }
            for (PreparedOperation each : operations) {
                posting.post(each);
            }
        }

        @Override
        public void await() throws ExecutionException {
            posting.await(operation);
            receiving.await(operation);
        }
    }

    @Override
    public void close() {
        sides.close();
    }
}
