// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ids of connections on their way, established and ending, and who listens to the steps of each.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the ids from {@link #end} on.
 */
final class ConnectionIds implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionIds.class);

    private final Map<CmId, Consumer<CmEvent>> listeners = new HashMap<>();
    private final DeferredDisconnects disconnects = new DeferredDisconnects();

    /** Has the steps of an id told to a listener, instead of the one before. */
    void listen(CmId id, Consumer<CmEvent> listener) {
        listeners.put(id, listener);
    }

    /** Tells the listener of the event's id. */
    void dispatch(CmEvent event) {
        Consumer<CmEvent> listener = listeners.get(event.id());
        if (listener == null) {
            LOG.debug("Event of a connection that has ended: {}", event.describe());
        } else {
            listener.accept(event);
        }
    }

    /** Disconnects and closes an id whose queue pair is closed, now or as soon as its port is up. */
    void end(Rail rail, CmId id) {
        listeners.remove(id);
        disconnects.end(rail, id);
    }

    /** Ends the ids of ports that have come up. */
    void endDeferred() {
        disconnects.serve();
    }

    /** Ends what still waits, and from now on at once. */
    @Override
    public void close() {
        disconnects.close();
    }
}
