// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.QueueLayout.ibv_comp_channel;
import io.rdmashuffle.ffi.RawMemory;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Channel of events of armed completion queues. The order that loses none: take the event, poll until empty, arm, poll
 * once more.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> child of its {@link Context}; closing it closes the completion queues that use it first.
 *
 * <p><b>Source:</b> ibv_create_comp_channel(3), ibv_get_cq_event(3).
 */
public final class CompletionChannel extends NativeResource {
    private final DeviceCalls calls;
    private final int descriptor;
    /** Replaced as a whole, so that looking one up makes no garbage. */
    private volatile CompletionQueue[] queues = new CompletionQueue[0];

    private final NativeBuffer result = new NativeBuffer(2L * Long.BYTES);

    CompletionChannel(NativeResource context, DeviceCalls calls, long handle) {
        super("completion channel of " + calls.deviceName(), handle, context);
        this.calls = calls;
        this.descriptor = RawMemory.getInt(handle + ibv_comp_channel.fd);
        FileDescriptors.makeNonBlocking(descriptor);
    }

    /** {@return the descriptor that becomes readable when an event arrives; non-blocking, for {@link WaitSet#add}} */
    public int fileDescriptor() {
        return descriptor;
    }

    synchronized void attach(CompletionQueue queue) {
        CompletionQueue[] more = Arrays.copyOf(queues, queues.length + 1);
        more[queues.length] = queue;
        queues = more;
    }

    synchronized void detach(long queue) {
        queues = Arrays.stream(queues)
                .filter(candidate -> candidate.handle() != queue)
                .toArray(CompletionQueue[]::new);
    }

    private @Nullable CompletionQueue find(long queue) {
        for (CompletionQueue candidate : queues) {
            if (candidate.handle() == queue) {
                return candidate;
            }
        }
        return null;
    }

    /**
     * Reads and acknowledges the next event.
     *
     * @return the queue that has completions, null if there is no event or its queue was closed meanwhile
     */
    public @Nullable CompletionQueue nextEvent() {
        long channel = enter();
        try {
            synchronized (result) {
                long queueAt = result.address();
                if (calls.verbs().ibv_get_cq_event(channel, queueAt, queueAt + Long.BYTES) != 0) {
                    return null;
                }
                long queue = result.getLong(0);
                // The queue is alive: destroying one waits until its events are acknowledged.
                calls.verbs().ibv_ack_cq_events(queue, 1);
                return find(queue);
            }
        } finally {
            exit();
        }
    }

    @Override
    void destroy(long handle) {
        NativeResult.checkReturned(
                calls.verbs().ibv_destroy_comp_channel(handle), () -> "ibv_destroy_comp_channel() of " + name());
        result.close();
    }
}
