// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.lifecycle.DaemonThreads;
import java.io.IOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads that copy a peer's bytes into leases.
 *
 * <p><b>Threading:</b> thread-safe. The queue holds at most the bytes in flight; a request's deadline is looked at
 * before each slice, and one slice is one memory copy.
 *
 * <p><b>Ownership:</b> owns the threads. Closing lets the copy that is under way finish and fails the rest.
 */
final class CopyThreads implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CopyThreads.class);
    private static final long IDLE_SECONDS = 30;
    private static final long CLOSE_SECONDS = 10;

    /** The memory of one peer. */
    @FunctionalInterface
    interface Source {
        /** Maps what the slice needs and holds it until the view is closed. */
        RemoteView open(RemoteSlice slice) throws ReadFailedException;
    }

    private final InFlightReads reads;
    private final ExecutorService threads;
    private volatile boolean closed;

    CopyThreads(int count, long maxBytesInFlight) {
        this.reads = new InFlightReads(maxBytesInFlight);
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                count, count, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), new DaemonThreads("shm"));
        pool.allowCoreThreadTimeOut(true);
        this.threads = pool;
    }

    /** Returns the bytes that wait or are being copied. */
    long bytesInFlight() {
        return reads.load().bytesInFlight();
    }

    /** Queues a read, now or when there is room in flight. */
    boolean submit(ReadRequest request, Source source) {
        return reads.admit(request, admitted -> start(admitted, source));
    }

    private void start(ReadRequest request, Source source) {
        long startedNanos = System.nanoTime();
        try {
            threads.execute(() -> run(source, request, startedNanos));
        } catch (RejectedExecutionException e) {
            reads.fail(request, new ReadFailedException(Reason.CLOSED, "shared-memory fabric is closed", e));
        }
    }

    private void run(Source source, ReadRequest request, long startedNanos) {
        ReadFailedException failure = null;
        try {
            long written = 0;
            for (RemoteSlice slice : request.sources()) {
                checkMayRead(request);
                try (RemoteView view = source.open(slice)) {
                    view.bytes()
                            .copyToAddress(request.target()
                                    .memory()
                                    .slice(written, slice.lengthBytes())
                                    .address());
                }
                written += slice.lengthBytes();
            }
        } catch (ReadFailedException e) {
            failure = e;
        } catch (IOException e) {
            failure = new ReadFailedException(Reason.TRANSPORT_ERROR, "cannot read the peer's disk tier", e);
        } catch (RuntimeException | Error e) {
            // An Error too: the reader would otherwise wait for its deadline, and the lease be lost.
            failure = new ReadFailedException(Reason.TRANSPORT_ERROR, "copy failed", e);
        }
        if (failure == null) {
            reads.succeed(request, startedNanos);
        } else {
            // No copy is under way any more, so nothing writes into the target.
            reads.fail(request, failure);
        }
    }

    private void checkMayRead(ReadRequest request) throws ReadFailedException {
        if (closed) {
            throw new ReadFailedException(Reason.CLOSED, "shared-memory fabric is closed");
        }
        if (request.isExpired()) {
            throw new ReadFailedException(Reason.TIMED_OUT, "deadline passed before the copy began");
        }
    }

    @Override
    public void close() {
        closed = true;
        threads.shutdown();
        try {
            if (!threads.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("Copies are still running {} s after the shared-memory fabric was closed", CLOSE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
