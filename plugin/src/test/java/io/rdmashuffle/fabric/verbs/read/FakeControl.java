// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.connect.ConnectionListener;
import io.rdmashuffle.fabric.verbs.connect.ConnectionService;
import io.rdmashuffle.fabric.verbs.connect.ConnectionTarget;
import io.rdmashuffle.fabric.verbs.connect.EstablishedPair;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Fake control side: connection attempts wait until the test completes them.
 *
 * <p><b>Threading:</b> one thread.
 */
final class FakeControl implements ConnectionService {
    private final EventChannel events;
    private final int depth;
    private final int maxReadBytes;
    private final Deque<Attempt> attempts = new ArrayDeque<>();
    private final List<Established> alive = new ArrayList<>();
    private int started;
    private int closed;

    private record Attempt(ConnectionTarget target, ConnectionListener listener) {}

    /** Connection with its listener. */
    record Established(EstablishedPair pair, ConnectionListener listener) {}

    FakeControl(EventChannel events, int depth, int maxReadBytes) {
        this.events = events;
        this.depth = depth;
        this.maxReadBytes = maxReadBytes;
    }

    @Override
    public synchronized void connect(ConnectionTarget target, ConnectionListener listener) {
        started++;
        attempts.add(new Attempt(target, listener));
    }

    @Override
    public synchronized void closeIdentity(EstablishedPair pair) {
        if (!pair.pair().isClosed()) {
            throw new AssertionError("the identity goes before its queue pair");
        }
        if (!alive.removeIf(each -> each.pair().equals(pair))) {
            throw new AssertionError("an identity closed twice");
        }
        closed++;
        pair.rail().controlMemory().release(pair.slot());
        pair.id().close();
    }

    synchronized int started() {
        return started;
    }

    synchronized int closed() {
        return closed;
    }

    synchronized boolean hasAttempt() {
        return !attempts.isEmpty();
    }

    synchronized List<Established> alive() {
        return List.copyOf(alive);
    }

    /** Lets the oldest attempt succeed; returns the number of its queue pair. */
    synchronized int accept() {
        Attempt attempt = attempts.remove();
        ConnectionTarget target = attempt.target();
        QueuePair pair = target.rail()
                .domain()
                .createQueuePair(new QueueSizes(depth, 2, 1, 64), target.completions(), target.completions(), null);
        EstablishedPair established = new EstablishedPair(
                target.rail(), boundId(), pair, target.rail().controlMemory().take(), depth, maxReadBytes);
        alive.add(new Established(established, attempt.listener()));
        attempt.listener().connected(established);
        return pair.number();
    }

    private CmId boundId() {
        CmId id = events.createId();
        id.bind(new InetSocketAddress("192.0.2.1", 0));
        return id;
    }

    /** Lets the oldest attempt fail. */
    synchronized void refuse(String why) {
        attempts.remove().listener().connectFailed(new ReadFailedException(Reason.PEER_GONE, why));
    }

    /** Lets the oldest attempt run out of time. */
    synchronized void timeOut() {
        attempts.remove().listener().connectFailed(new ReadFailedException(Reason.NOT_CONNECTED, "no answer"));
    }

    /** Returns whether the oldest attempt would be tried if its turn came. */
    synchronized boolean isWanted() {
        return attempts.element().listener().isWanted();
    }

    /** Lets the oldest attempt be dropped before its turn. */
    synchronized void drop() {
        attempts.remove().listener().notTried();
    }

    /** Closes the ids of connections that could not be closed. */
    synchronized void abandonIdentities() {
        alive.forEach(each -> each.pair().id().close());
        alive.clear();
    }

    /** Has the connection manager end a connection. */
    synchronized void disconnect(Established connection) {
        connection.listener().broken(connection.pair(), new ReadFailedException(Reason.PEER_GONE, "DISCONNECTED"));
    }
}
