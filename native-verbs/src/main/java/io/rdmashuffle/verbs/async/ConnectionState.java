// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.QueuePair;
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
 * Queue pair with its outstanding operations, from creation to the last flushed completion.
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
 * <p><b>Threading:</b> any thread posts; only the progress thread completes and ends. One lock guards the queues;
 * futures and handlers are completed without it.
 *
 * <p><b>Ownership:</b> owns its queue pair, queues, id and scratch memory.
 */
final class ConnectionState implements CompletionTarget {
    private static final long DRAIN_TIMEOUT_NANOS = TimeUnit.SECONDS.toNanos(2);
    /**
     * Timeout of the event for the last shared receive, which devices send within milliseconds; soft-RoCE sends none.
     */
    private static final long LAST_RECEIVE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Shortest time for which an idle connection lets its thread sleep. */
    private static final long MIN_SLEEP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final int number;
    private final String peer;
    private final CmId id;
    private final QueuePair pair;
    private final Progress progress;
    private final boolean sharesReceives;
    private final Runnable afterEnd;
    private final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    private final Object lock = new Object();
    private final WorkQueue sends;
    private final WorkQueue receives;
    private volatile long timeoutNanos;
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
        this.timeoutNanos = options.operationTimeout().toNanos();
        this.sends = WorkQueue.ofSends(number, pair, options.maxInFlight(), maxPieces);
        this.receives = WorkQueue.ofReceives(number, pair, options.maxReceives());
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

    /** Sets the timeout of later operations; receives have none. */
    void operationTimeout(long nanos) {
        timeoutNanos = nanos;
    }

    /**
     * Posts operations other than receives with one call, all of them or, if this throws, none: more than allowed are
     * in flight, or a region is closed. If the connection is not open they end with that as the reason.
     */
    void post(List<? extends Operation> operations) {
        post(sends, operations);
    }

    /** Posts a receive, as {@link #post}. */
    void postReceive(List<? extends Operation> receive) {
        requireOwnReceives();
        post(receives, receive);
    }

    /** Throws if the connection has no receives of its own. */
    void requireOwnReceives() {
        if (sharesReceives) {
            throw new IllegalStateException(
                    "the connection to " + peer + " takes from shared receives, whose handler gets its messages");
        }
    }

    private void post(WorkQueue queue, List<? extends Operation> operations) {
        int size = operations.size();
        int begun = 0;
        boolean posted = false;
        try {
            while (begun < size) {
                operations.get(begun).begin();
                begun++;
            }
            postBegun(queue, operations);
            posted = true;
        } finally {
            if (!posted) {
                for (int i = 0; i < begun; i++) {
                    operations.get(i).withdraw();
                }
            }
        }
    }

    /** From when the lock is given up an operation may have ended, and be posted again. */
    private void postBegun(WorkQueue queue, List<? extends Operation> operations) {
        Throwable ending;
        long deadline = Operation.NEVER;
        int taken = 0;
        synchronized (lock) {
            ending = failure;
            if (ending == null) {
                deadline = queue == receives ? Operation.NEVER : after(progress.now(), timeoutNanos);
                taken = take(queue, operations, deadline);
            }
        }
        if (ending != null) {
            for (int i = 0; i < operations.size(); i++) {
                Operation operation = operations.get(i);
                operation.refuse(
                        new IOException(operation.name() + ": connection to " + peer + " has ended", ending), progress);
            }
            return;
        }
        if (taken < operations.size()) {
            refuseRest(queue, operations, taken);
        }
        progress.wakeBefore(deadline);
    }

    /** Returns the number of receives that the device has consumed, or will flush when the connection ends. */
    private int take(WorkQueue queue, List<? extends Operation> operations, long deadline) {
        try {
            return queue.post(operations, deadline);
        } catch (NativeException e) {
            if (operations.size() == 1) {
                throw e; // the only one is the malformed one
            }
            progress.execute(() -> fail(e));
            return operations.size();
        }
    }

    /** The queue pair has room for all slots: this is for a device that takes fewer than it promised. */
    private void refuseRest(WorkQueue queue, List<? extends Operation> operations, int taken) {
        RejectedExecutionException full = new RejectedExecutionException("the " + queue + " is full");
        if (taken == 0) {
            throw full;
        }
        for (Operation operation : operations.subList(taken, operations.size())) {
            progress.execute(() -> operation.fail(full));
        }
    }

    /** Returns a moment after another, {@link Operation#NEVER} if that is too far away. */
    static long after(long now, long nanos) {
        long then = now + nanos;
        return then < 0 ? Operation.NEVER : then;
    }

    /** Ends the connection since the handler of an operation threw, whichever way that had ended. */
    void handlerThrew(Operation operation, Throwable thrown) {
        IOException reason = new IOException("the handler of " + operation.name() + " threw", thrown);
        Throwable earlier = failure;
        if (earlier == null) {
            fail(reason);
        } else {
            earlier.addSuppressed(reason);
        }
    }

    @Override
    public void complete(WorkCompletions completions, int index) {
        int slot = (int) completions.workRequestId(index);
        boolean receive = (slot & WorkQueue.RECEIVE) != 0;
        boolean succeeded = completions.succeeded(index);
        Operation operation;
        synchronized (lock) {
            operation = (receive ? receives : sends).operations().take(slot & ~WorkQueue.RECEIVE);
            if (operation != null && succeeded) {
                // Under the lock: with it gone the slot, and the memory that goes with it, may be the next operation's.
                operation.takeResult(completions, index);
            }
        }
        if (operation == null) {
            return;
        }
        if (succeeded) {
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

    /** Handles an event of an established connection. */
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
            if (e != reason) {
                reason.addSuppressed(e);
            }
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
        Operation late = null;
        boolean drained = false;
        long next;
        synchronized (lock) {
            if (failure == null) {
                next = sends.operations().nearestDeadline(); // receives have none
                if (next <= now) {
                    late = sends.operations().markOverdue(now);
                }
                // Later operations are not due before that, and need not wake the thread.
                next = Math.min(next, after(now, Math.max(timeoutNanos, MIN_SLEEP_NANOS)));
            } else {
                boolean empty =
                        sends.operations().isEmpty() && receives.operations().isEmpty();
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
        List<Operation> left;
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
            if (e != reason) {
                reason.addSuppressed(e);
            }
        }
        try {
            pair.close();
        } catch (RuntimeException e) {
            kept = e;
            if (e != reason) {
                reason.addSuppressed(e);
            }
        }
        synchronized (lock) {
            left = new ArrayList<>(sends.operations().takeAll());
            left.addAll(receives.operations().takeAll());
            sends.close();
            receives.close();
        }
        for (Operation operation : left) {
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
            if (e != reason) {
                reason.addSuppressed(e);
            }
        }
    }
}
