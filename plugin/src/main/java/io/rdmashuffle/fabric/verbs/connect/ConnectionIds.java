// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ids of one rail's connections on their way, established and ending, and who listens to the steps of each.
 *
 * <p>Destroying an id sends a last message. A peer that never gets it keeps its queue pair, and with soft-RoCE of Linux
 * 6.1 a management datagram that finds its interface down puts the device's management queue pair into the error state,
 * after which nothing connects over that device any more. So ids that end while the port is down wait until it is up.
 * There are never more of them than there were connections, since none is made meanwhile.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the ids from {@link #end} on.
 */
final class ConnectionIds implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionIds.class);

    private final Rail rail;
    private final Map<CmId, Consumer<CmEvent>> listeners = new HashMap<>();
    /** Ids that end when the port is up. */
    private final Queue<CmId> deferred = new ArrayDeque<>();

    private boolean closed;

    ConnectionIds(Rail rail) {
        this.rail = rail;
    }

    /** Sets the listener of an id's events. */
    void listen(CmId id, Consumer<CmEvent> listener) {
        listeners.put(id, listener);
    }

    /** Notifies the listener of the event's id. */
    void dispatch(CmEvent event) {
        Consumer<CmEvent> listener = listeners.get(event.id());
        if (listener == null) {
            LOG.debug("Event of a connection that has ended: {}", event.describe());
        } else {
            listener.accept(event);
        }
    }

    /** Disconnects and closes an id whose queue pair is closed, now or as soon as the port is up. */
    void end(CmId id) {
        listeners.remove(id);
        if (closed || (deferred.isEmpty() && rail.isActive())) {
            disconnect(id);
        } else {
            deferred.add(id);
        }
    }

    /** Ends the ids that wait, if the port has come up. */
    void endDeferred() {
        if (!deferred.isEmpty() && rail.isActive()) {
            endAllDeferred();
        }
    }

    private void endAllDeferred() {
        deferred.forEach(ConnectionIds::disconnect);
        deferred.clear();
    }

    private static void disconnect(CmId id) {
        try (id) {
            id.disconnect();
        } catch (RuntimeException e) {
            LOG.debug("Disconnecting {} failed", id.name(), e);
        }
    }

    /** Ends the deferred ids, whether their message arrives or not, and every later id at once. */
    @Override
    public void close() {
        closed = true;
        endAllDeferred();
    }
}
