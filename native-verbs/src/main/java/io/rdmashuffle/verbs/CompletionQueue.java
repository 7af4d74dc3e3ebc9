// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import java.util.function.LongConsumer;

/**
 * Queue of the completions of any number of queue pairs.
 *
 * <p><b>Threading:</b> thread-safe; one thread that polls is the fast way.
 *
 * <p><b>Ownership:</b> child of its {@link Context} and its channel; closing it closes the queue pairs that use it
 * first.
 *
 * <p><b>Source:</b> ibv_create_cq(3), ibv_poll_cq(3), ibv_req_notify_cq(3).
 */
public final class CompletionQueue extends NativeResource {
    private final DeviceCalls calls;
    private final ContextOps operations;
    private final LongConsumer beforeDestroy;

    /**
     * Wraps a queue that was just created.
     *
     * @param beforeDestroy is given the handle while the native queue still exists
     * @param parents the context, and the channel if there is one
     */
    CompletionQueue(DeviceCalls calls, long handle, LongConsumer beforeDestroy, NativeResource... parents) {
        super("completion queue of " + calls.deviceName(), handle, parents);
        this.calls = calls;
        this.operations = calls.operations();
        this.beforeDestroy = beforeDestroy;
    }

    /**
     * Polls completions, without waiting and without garbage.
     *
     * @param completions overwritten; its capacity bounds how many are taken
     * @return how many were taken, 0 if none had arrived
     * @throws IllegalStateException if the queue overflowed or the device failed
     */
    public int poll(WorkCompletions completions) {
        long queue = enter();
        try {
            int count = operations.ibv_poll_cq(queue, completions.capacity(), completions.address());
            if (count < 0) {
                throw new IllegalStateException("ibv_poll_cq() on " + name() + " returned " + count
                        + ": the queue overflowed or the device failed; create the queue with more entries");
            }
            completions.setCount(count);
            return count;
        } finally {
            exit();
        }
    }

    /**
     * Arms the queue: its channel reports the next completion. Earlier completions are not reported, so poll once more.
     */
    public void arm() {
        long queue = enter();
        try {
            int result = operations.ibv_req_notify_cq(queue, 0);
            if (result != 0) { // looked at here: a lambda would be garbage each time that a thread goes to sleep
                NativeResult.checkReturned(result, () -> "ibv_req_notify_cq() on " + name());
            }
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        beforeDestroy.accept(handle);
        NativeResult.checkReturned(calls.verbs().ibv_destroy_cq(handle), () -> "ibv_destroy_cq() of " + name());
    }
}
