// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.Context;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * An endpoint's view of the events of its device.
 *
 * <p>librdmacm opens a device once per process, so all endpoints on it share one queue of events: whichever reads an
 * event hands it to all of them.
 *
 * <p><b>Threading:</b> thread-safe; a listener runs on the thread that read the event, perhaps another endpoint's, and
 * must not block.
 *
 * <p><b>Ownership:</b> the endpoint's, which closes it before the context.
 *
 * <p><b>Source:</b> ibv_get_async_event(3).
 */
final class DeviceEvents implements AutoCloseable {
    /** By the device's descriptor, which is unique while the device is open. */
    private static final Map<Integer, List<DeviceEvents>> WATCHERS = new ConcurrentHashMap<>();

    private final Context context;
    private final int descriptor;
    private final Consumer<AsyncEvent> listener;

    DeviceEvents(Context context, Consumer<AsyncEvent> listener) {
        this.context = context;
        this.listener = listener;
        this.descriptor = context.asyncFileDescriptor();
        WATCHERS.compute(descriptor, (key, before) -> {
            List<DeviceEvents> all = new ArrayList<>(before == null ? List.of() : before);
            all.add(this);
            return List.copyOf(all);
        });
    }

    /** Returns the descriptor that becomes readable when an event arrives. */
    int fileDescriptor() {
        return descriptor;
    }

    /** Reads the events that are there and hands them out. */
    void take() {
        for (AsyncEvent event = context.nextAsyncEvent(); event != null; event = context.nextAsyncEvent()) {
            for (DeviceEvents watcher : WATCHERS.getOrDefault(descriptor, List.of())) {
                watcher.listener.accept(event);
            }
        }
    }

    @Override
    public void close() {
        WATCHERS.computeIfPresent(descriptor, (key, before) -> {
            List<DeviceEvents> left =
                    before.stream().filter(watcher -> watcher != this).toList();
            return left.isEmpty() ? null : left;
        });
    }
}
