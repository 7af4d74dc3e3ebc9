package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.ContextOps;
import org.jspecify.annotations.Nullable;

/**
 * Where work requests of many queue pairs report that they ended.
 *
 * <p><b>Threading:</b> thread-safe; one thread that polls is the fast way.
 *
 * <p><b>Ownership:</b> child of its {@link Context} and its channel; closing it closes the queue pairs that use it first.
 *
 * <p><b>Source:</b> ibv_create_cq(3), ibv_poll_cq(3), ibv_req_notify_cq(3).
 */
public final class CompletionQueue extends NativeResource {
    private final Context context;
    private final ContextOps operations;
    private final @Nullable CompletionChannel channel;

    private CompletionQueue(
            Context context, long handle, @Nullable CompletionChannel channel, NativeResource... parents) {
        super("completion queue of " + context.deviceName(), handle, parents);
        this.context = context;
        this.operations = context.operations();
        this.channel = channel;
    }

    static CompletionQueue created(Context context, long handle, @Nullable CompletionChannel channel) {
        if (channel == null) {
            return new CompletionQueue(context, handle, null, context).adoptedBy(CompletionQueue.class);
        }
        CompletionQueue queue =
                new CompletionQueue(context, handle, channel, context, channel).adoptedBy(CompletionQueue.class);
        channel.attach(queue);
        return queue;
    }

    /**
     * Takes what has ended, without waiting and without garbage; returns how many, at most what {@code completions} holds.
     */
    public int poll(WorkCompletions completions) {
        long queue = enter();
        try {
            int count = operations.ibv_poll_cq(queue, completions.capacity(), completions.address());
            if (count < 0) {
                throw new IllegalStateException("ibv_poll_cq on " + name() + " failed: the queue overflowed or died");
            }
            completions.setCount(count);
            return count;
        } finally {
            exit();
        }
    }

    /** Has the channel tell of the next completion; those that came before are not told, so poll once more. */
    public void arm() {
        long queue = enter();
        try {
            NativeResult.checkReturned(
                    operations.ibv_req_notify_cq(queue, 0), () -> "ibv_req_notify_cq() on " + name());
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        if (channel != null) {
            channel.detach(handle);
        }
        NativeResult.checkReturned(context.library().verbs().ibv_destroy_cq(handle), () -> "ibv_destroy_cq()");
    }
}
