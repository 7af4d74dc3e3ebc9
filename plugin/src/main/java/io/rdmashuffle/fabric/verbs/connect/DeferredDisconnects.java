// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CmId;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Disconnects ids of connections while their port can carry the message, and defers those of a port that is down.
 *
 * <p>Destroying an id sends a last message. A peer that never gets it keeps its queue pair, and with soft-RoCE of Linux
 * 6.1 a management datagram that finds its interface down puts the device's management queue pair into the error state,
 * after which nothing connects over that device any more. So the ids of a port that is down wait until it is up. There
 * are never more of them than there were connections, since none is made meanwhile.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the ids that it was given.
 */
final class DeferredDisconnects implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DeferredDisconnects.class);

    private final Map<Rail, Queue<CmId>> waiting = new HashMap<>();
    private boolean closed;

    /** Disconnects and closes an id whose queue pair is closed, now or when its port is up again. */
    void end(Rail rail, CmId id) {
        Queue<CmId> ids = waiting.get(rail);
        if (closed || (ids == null && rail.isActive())) {
            end(id);
        } else {
            waiting.computeIfAbsent(rail, key -> new ArrayDeque<>()).add(id);
        }
    }

    /** Ends the ids of ports that have come up. */
    void serve() {
        waiting.entrySet().removeIf(entry -> {
            if (!entry.getKey().isActive()) {
                return false;
            }
            entry.getValue().forEach(DeferredDisconnects::end);
            return true;
        });
    }

    private static void end(CmId id) {
        try (id) {
            id.disconnect();
        } catch (RuntimeException e) {
            LOG.debug("Disconnecting {} failed", id.name(), e);
        }
    }

    /** Ends what still waits, whether the peer hears of it or not, and from now on at once. */
    @Override
    public void close() {
        closed = true;
        waiting.values().forEach(ids -> ids.forEach(DeferredDisconnects::end));
        waiting.clear();
    }
}
