package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.verbs.CmId;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends ids of connections while their port can carry the goodbye.
 *
 * <p>Destroying an id sends a last message. A peer that never gets it keeps its queue pair, and soft-RoCE of Linux 6.1 is worse
 * off: a management datagram that finds its interface down puts the device's management queue pair into the error state, after
 * which nothing connects over that device any more. So the ids of a port that is down wait until it is up. There are never more
 * of them than there were connections, since none is made meanwhile.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the ids that it was given.
 */
final class Farewells implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Farewells.class);

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
            entry.getValue().forEach(Farewells::end);
            return true;
        });
    }

    private static void end(CmId id) {
        try (id) {
            id.disconnect();
        } catch (RuntimeException e) {
            LOG.debug("could not say goodbye to {}", id.remoteAddress(), e);
        }
    }

    /** Ends what still waits, whether it is heard or not, and from now on at once. */
    @Override
    public void close() {
        closed = true;
        waiting.values().forEach(ids -> ids.forEach(Farewells::end));
        waiting.clear();
    }
}
