// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.ReceiveRequests;
import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A queue pair with what is outstanding on it, from creation to the last flushed completion.
 *
 * <pre>
 *  open --failure, close, disconnect--> draining --nothing outstanding, or 2 s--> over
 * </pre>
 *
 * Draining: the queue pair is in error, so that the device completes every request as flushed. Requests that have not
 * completed in time fail after the queue pair is destroyed, when the device can no longer reach their memory either. A
 * receive that the queue pair has taken from shared ones comes back before the device tells that it was the last: one
 * of a queue pair that is destroyed earlier would be lost to all others.
 *
 * <p><b>Threading:</b> any thread posts; only the progress thread completes and ends. One lock guards tables and
 * chains, futures are completed without it.
 *
 * <p><b>Ownership:</b> owns its queue pair, id and scratch memory.
 */
final class ConnectionState implements CompletionTarget {
    private static final long DRAIN_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** A device that tells of the last shared receive does so within milliseconds; soft-RoCE tells nothing. */
    private static final long LAST_RECEIVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private static final int RECEIVE = 1 << 31;

    private final int number;
    private final String peer;
    private final CmId id;
    private final QueuePair pair;
    private final Progress progress;
    private final boolean sharesReceives;
    private final Runnable afterEnd;
    private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    private final Object lock = new Object();
    private final SendRequests sendChain;
    private final ReceiveRequests receiveChain = new ReceiveRequests(1);
    private final OperationTable sends;
    private final OperationTable receives;
    private @Nullable Throwable failure;
    private long drainDeadline = Operation.NEVER;
    /** When no shared receive can be on its way back any more; only while draining. */
    private long lastReceive;

    private boolean over;

    ConnectionState(
            int number,
            CmId id,
            QueuePair pair,
            Progress progress,
            EndpointOptions options,
            int maxPieces,
            boolean sharesReceives,
            Runnable afterEnd) {
        this.number = number;
        this.peer = String.valueOf(id.remoteAddress());
        this.id = id;
        this.pair = pair;
        this.progress = progress;
        this.sharesReceives = sharesReceives;
        this.afterEnd = afterEnd;
        this.sendChain = new SendRequests(options.maxInFlight(), maxPieces);
        this.sends = new OperationTable("operations", options.maxInFlight());
        this.receives = new OperationTable("receives", options.maxReceives());
    }

    @Override
    public int number() {
        return number;
    }

    @Override
    public boolean isSubjectOf(AsyncEvent event) {
        return event.isAbout(pair);
    }

    String peer() {
        return peer;
    }

    QueuePair pair() {
        return pair;
    }

    /** Returns a future that completes with the reason, once the connection is over. */
    CompletableFuture<Throwable> ended() {
        return ended;
    }

    /**
     * Posts requests with one call, all of them or, if this throws, none: more than allowed are in flight, or a region
     * is closed. If the connection is not open their futures have failed.
     */
    void post(List<? extends Request<?>> requests) {
        List<? extends Operation<?>> operations =
                requests.stream().map(Request::operation).toList();
        long deadline = Operation.NEVER;
        int retained = 0;
        boolean posted = false;
        try {
            for (Operation<?> operation : operations) {
                operation.retain();
                retained++;
            }
            posted = postRetained(requests);
        } finally {
            if (!posted) {
                operations.subList(0, retained).forEach(Operation::release);
            }
        }
        for (Operation<?> operation : operations) {
            deadline = Math.min(deadline, operation.deadline());
        }
        progress.wakeBefore(deadline);
    }

    /** Returns false if the connection has ended, which the futures then tell. */
    private boolean postRetained(List<? extends Request<?>> requests) {
        Throwable ending;
        synchronized (lock) {
            ending = failure;
            if (ending == null) {
                sends.requireFree(requests.size());
                fill(requests);
                return true;
            }
        }
        for (Request<?> request : requests) {
            request.operation().refuse(hasEnded(request.operation(), ending));
        }
        return false;
    }

    /** Puts requests into slots and posts them; under the lock, with slots free for all. */
    private void fill(List<? extends Request<?>> requests) {
        int[] slots = new int[requests.size()];
        int filled = 0;
        int taken = 0;
        sendChain.clear();
        try {
            for (Request<?> request : requests) {
                request.operation().start(progress.now());
                slots[filled] = sends.put(request.operation());
                int slot = slots[filled++];
                request.work().add(sendChain, CompletionTarget.workRequestId(number, slot), slot);
            }
            taken = filled; // if the next line throws, some may have been taken
            taken = filled == 0 ? 0 : pair.post(sendChain);
        } catch (NativeException e) {
            if (filled == 1) {
                taken = 0; // the only one is the malformed one
                throw e;
            }
            // Those before the malformed one are the device's: they end with the connection, as all of them do.
            progress.execute(() -> fail(e));
        } finally {
            for (int i = filled - 1; i >= taken; i--) {
                sends.take(slots[i]);
            }
        }
        if (taken < filled) {
            refuseRest(requests, taken);
        }
    }

    /** The queue pair has room for all slots: this is for a device that takes fewer than it promised. */
    private void refuseRest(List<? extends Request<?>> requests, int taken) {
        RejectedExecutionException full = new RejectedExecutionException("the send queue of " + pair + " is full");
        if (taken == 0) {
            throw full;
        }
        for (Request<?> request : requests.subList(taken, requests.size())) {
            progress.execute(() -> request.operation().fail(full));
        }
    }

    private IOException hasEnded(Operation<?> operation, Throwable reason) {
        return new IOException(operation.name() + ": connection to " + peer + " has ended", reason);
    }

    /** Posts a receive, as {@link #post}. */
    <T> CompletableFuture<T> postReceive(Operation<T> operation, LocalSlice local) {
        if (sharesReceives) {
            throw new IllegalStateException(
                    "the connection to " + peer + " takes from shared receives, whose handler gets its messages");
        }
        operation.retain();
        boolean posted = false;
        try {
            synchronized (lock) {
                if (failure != null) {
                    return CompletableFuture.failedFuture(hasEnded(operation, failure));
                }
                operation.start(progress.now());
                int slot = receives.put(operation);
                try {
                    receiveChain.clear();
                    receiveChain.add(
                            CompletionTarget.workRequestId(number, slot | RECEIVE),
                            local.region().address(local.offset()),
                            local.lengthBytes(),
                            local.region().localKey());
                    posted = pair.post(receiveChain) == 1;
                } finally {
                    if (!posted) {
                        receives.take(slot);
                    }
                }
            }
            if (!posted) {
                throw new RejectedExecutionException("the receive queue of " + pair + " is full");
            }
        } finally {
            if (!posted) {
                operation.release();
            }
        }
        return operation.future();
    }

    @Override
    public void complete(WorkCompletions completions, int index) {
        int slot = (int) completions.workRequestId(index);
        Operation<?> operation;
        synchronized (lock) {
            operation = (slot & RECEIVE) == 0 ? sends.take(slot) : receives.take(slot & ~RECEIVE);
            if (operation != null && completions.succeeded(index)) {
                // Under the lock: with it gone the slot, and the memory that goes with it, may be the next operation's.
                operation.takeResult(completions, index, slot);
            }
        }
        if (operation == null) {
            return;
        }
        if (completions.succeeded(index)) {
            operation.succeed();
        } else {
            CompletionStatus status =
                    operation.wasOverdue() ? CompletionStatus.RESPONSE_TIMEOUT : completions.status(index);
            WorkFailedException reason =
                    new WorkFailedException(operation.name(), peer, status, completions.vendorError(index));
            fail(reason);
            operation.fail(explain(reason));
        }
    }

    /** Sets the first failure of the connection as the cause of an operation's own. */
    private WorkFailedException explain(WorkFailedException reason) {
        Throwable first = failure;
        if (first != null && first != reason) {
            reason.initCause(first);
        }
        return reason;
    }

    /** Takes an event of an established connection. */
    void handle(CmEvent event) {
        if (event.type() == CmEvent.Type.DISCONNECTED || event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            fail(new IOException("peer " + peer + ": " + event.describe()));
        }
    }

    @Override
    public void fail(Throwable reason) {
        synchronized (lock) {
            if (failure != null) {
                return;
            }
            failure = reason;
            long now = progress.now();
            drainDeadline = now + DRAIN_TIMEOUT_NANOS;
            lastReceive = sharesReceives ? now + LAST_RECEIVE_NANOS : now;
        }
        try {
            pair.fail();
            id.disconnect();
        } catch (RuntimeException e) {
            reason.addSuppressed(e);
        }
    }

    @Override
    public void lastReceiveReached() {
        synchronized (lock) {
            lastReceive = progress.now();
        }
    }

    @Override
    public long tick(long now) {
        Operation<?> late = null;
        boolean drained = false;
        long next;
        synchronized (lock) {
            if (failure == null) {
                next = Math.min(sends.nearestDeadline(), receives.nearestDeadline());
                if (next <= now) {
                    late = sends.markOverdue(now);
                    late = late == null ? receives.markOverdue(now) : late;
                }
            } else {
                boolean empty = sends.isEmpty() && receives.isEmpty();
                next = empty ? Math.min(lastReceive, drainDeadline) : drainDeadline;
                drained = now >= next;
            }
        }
        if (late != null) {
            fail(new WorkFailedException(late.name(), peer, CompletionStatus.RESPONSE_TIMEOUT, 0));
            return now;
        }
        if (drained) {
            end();
        }
        return next;
    }

    @Override
    public void abort(Throwable reason) {
        fail(reason);
        end();
    }

    private void end() {
        Throwable reason;
        List<Operation<?>> left;
        RuntimeException kept = null;
        synchronized (lock) {
            if (over || failure == null) {
                return;
            }
            over = true;
            reason = failure;
        }
        try {
            if (sharesReceives) {
                progress.takeCompletions(); // of receives, whose queue pair must still be known by its number
            }
        } catch (RuntimeException e) {
            reason.addSuppressed(e);
        }
        try {
            pair.close();
        } catch (RuntimeException e) {
            kept = e;
            reason.addSuppressed(e);
        }
        synchronized (lock) {
            left = new ArrayList<>(sends.takeAll());
            left.addAll(receives.takeAll());
            sendChain.close();
            receiveChain.close();
        }
        for (Operation<?> operation : left) {
            CompletionStatus status =
                    operation.wasOverdue() ? CompletionStatus.RESPONSE_TIMEOUT : CompletionStatus.WORK_REQUEST_FLUSHED;
            WorkFailedException failed = explain(new WorkFailedException(operation.name(), peer, status, 0));
            if (kept == null) {
                operation.fail(failed);
            } else {
                operation.failKeepingRegions(failed);
            }
        }
        progress.forget(this);
        try {
            if (kept == null) {
                closeId(reason);
                afterEnd.run();
            }
        } finally {
            ended.complete(reason);
        }
    }

    private void closeId(Throwable reason) {
        try {
            id.close();
        } catch (RuntimeException e) {
            reason.addSuppressed(e);
        }
    }
}
