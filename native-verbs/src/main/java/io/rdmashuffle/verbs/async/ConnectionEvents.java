// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.EventChannel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/**
 * Dispatches the connection events of an endpoint by id.
 *
 * <p><b>Threading:</b> events are taken by the progress thread; handlers are set by any.
 *
 * <p><b>Ownership:</b> owns nothing; the channel is the endpoint's.
 */
final class ConnectionEvents {
    private final EventChannel channel;
    private final Map<CmId, Consumer<CmEvent>> handlers = new ConcurrentHashMap<>();
    private final Consumer<CmEvent> others;

    /**
     * Dispatches from a channel.
     *
     * @param others takes events of ids without a handler
     */
    ConnectionEvents(EventChannel channel, Consumer<CmEvent> others) {
        this.channel = channel;
        this.others = others;
    }

    int fileDescriptor() {
        return channel.fileDescriptor();
    }

    void setHandler(CmId id, Consumer<CmEvent> handler) {
        handlers.put(id, handler);
    }

    void forget(CmId id) {
        handlers.remove(id);
    }

    /** Handles all pending events. */
    void take() {
        for (CmEvent event = channel.nextEvent(); event != null; event = channel.nextEvent()) {
            handlers.getOrDefault(event.id(), others).accept(event);
        }
    }
}
