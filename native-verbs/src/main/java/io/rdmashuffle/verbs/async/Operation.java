// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.WorkCompletions;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One request from its check to its end: its name for messages, the regions it keeps open, its future.
 *
 * <p><b>Threading:</b> created by the caller, then handed over under the connection's lock; ended by the thread that
 * took it out of its slot, which happens once.
 *
 * @param <T> what success brings
 */
final class Operation<T> {
    /** No timeout. */
    static final long NEVER = Long.MAX_VALUE;

    private final String name;
    private final List<LocalRegion> regions;
    private final Result<T> result;
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final long timeoutNanos;
    private long deadline = NEVER;
    private boolean overdue;
    private @Nullable T value;

    /** What a completion says; {@code slot} is the operation's. */
    interface Result<T> {
        T of(WorkCompletions completions, int index, int slot);
    }

    /**
     * Describes an operation.
     *
     * @param timeoutNanos from posting to completion, or {@link #NEVER}
     */
    Operation(String name, List<LocalRegion> regions, long timeoutNanos, Result<T> result) {
        this.name = name;
        this.regions = regions;
        this.timeoutNanos = timeoutNanos;
        this.result = result;
    }

    /** Keeps the regions open until the operation ends, or {@link #release()}; throws if one of them is closed. */
    void retain() {
        int retained = 0;
        try {
            for (LocalRegion region : regions) {
                region.retain();
                retained++;
            }
        } finally {
            if (retained < regions.size()) {
                regions.subList(0, retained).forEach(LocalRegion::release);
            }
        }
    }

    String name() {
        return name;
    }

    CompletableFuture<T> future() {
        return future;
    }

    /** Starts the timeout. */
    void start(long now) {
        deadline = timeoutNanos == NEVER ? NEVER : now + timeoutNanos;
    }

    long deadline() {
        return deadline;
    }

    /** Marks the operation once its deadline has passed, for {@link #wasOverdue}; returns whether it has. */
    boolean markOverdue(long now) {
        overdue |= deadline <= now;
        return overdue;
    }

    boolean wasOverdue() {
        return overdue;
    }

    /** Reads what came back, while the slot is still this operation's. */
    void takeResult(WorkCompletions completions, int index, int slot) {
        value = result.of(completions, index, slot);
    }

    /** Ends with the result that was taken. */
    void succeed() {
        release();
        future.complete(value);
    }

    void fail(Throwable reason) {
        release();
        future.completeExceptionally(reason);
    }

    /** Ends like {@link #fail}, but the regions stay in use for good: the device may still write into it. */
    void failKeepingRegions(Throwable reason) {
        future.completeExceptionally(reason);
    }

    /** Ends without having been posted; its regions are released by who retained them. */
    void refuse(Throwable reason) {
        future.completeExceptionally(reason);
    }

    /** Lets go of the memory, without ending the future: for an operation that was never posted. */
    void release() {
        regions.forEach(LocalRegion::release);
    }
}
