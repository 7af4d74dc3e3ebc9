// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the connections that this process reads through, step by step.
 *
 * <pre>
 *  resolve address -> ADDRESS_RESOLVED -> resolve route -> ROUTE_RESOLVED -> queue pair to INIT, connect
 *  -> CONNECT_RESPONSE -> check the peer's proof, queue pair to RTR, RTS, establish -> the listener has a connection
 * </pre>
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns ids and queue pairs until a listener takes them over.
 *
 * <p><b>Source:</b> rdma_cm(7), client operation; rdma_establish(3).
 */
final class Connector implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Connector.class);
    private static final int INLINE_BYTES = 64;

    private final EventChannel events;
    private final ConnectionIds ids;
    private final long fabricId;
    private final ConnectSettings settings;
    private final LongSupplier nanoClock;
    private final List<Attempt> attempts = new ArrayList<>();
    private boolean closed;

    Connector(EventChannel events, ConnectionIds ids, long fabricId, ConnectSettings settings, LongSupplier nanoClock) {
        this.events = events;
        this.ids = ids;
        this.fabricId = fabricId;
        this.settings = settings;
        this.nanoClock = nanoClock;
    }

    boolean isBusy() {
        return !attempts.isEmpty();
    }

    /** Starts an attempt; the listener is told how it ends. */
    void start(ConnectionTarget target, ConnectionListener listener) {
        Attempt attempt = new Attempt(target, listener);
        if (closed) {
            attempt.fail(Reason.CLOSED, "verbs fabric is closed", null);
            return;
        }
        attempts.add(attempt);
        if (!target.rail().isActive()) {
            attempt.fail(Reason.PEER_GONE, "the port is down", null);
            return;
        }
        attempt.run(attempt::resolve);
    }

    /** Fails attempts whose time is up. */
    void expire() {
        if (attempts.isEmpty()) {
            return;
        }
        long now = nanoClock.getAsLong();
        for (Attempt attempt : List.copyOf(attempts)) {
            if (now - attempt.deadline >= 0) {
                attempt.fail(
                        Reason.TIMED_OUT,
                        "no connection within " + settings.timeoutText()
                                + " (spark.shuffle.rdma.fabric.verbs.connectTimeout)",
                        null);
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        for (Attempt attempt : List.copyOf(attempts)) {
            attempt.fail(Reason.CLOSED, "verbs fabric is closed", null);
        }
    }

    /** One attempt to connect. */
    private final class Attempt {
        private final ConnectionTarget target;
        private final ConnectionListener listener;
        private final Rail rail;
        private final long deadline = nanoClock.getAsLong() + settings.timeout().toNanos();
        private final Handshake request;
        private @Nullable CmId id;
        private @Nullable QueuePair pair;
        private int depth;

        Attempt(ConnectionTarget target, ConnectionListener listener) {
            this.target = target;
            this.listener = listener;
            this.rail = target.rail();
            this.request = Handshake.request(fabricId, target.fabricId(), target.lane(), settings.secret());
        }

        /** Runs a step; a step that throws ends the attempt. */
        void run(Runnable step) {
            try {
                step.run();
            } catch (RuntimeException e) {
                fail(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e);
            }
        }

        void resolve() {
            CmId created = events.createId();
            id = created;
            ids.listen(created, event -> run(() -> onEvent(created, event)));
            if (settings.tuning().trafficClass() > 0) {
                created.typeOfService(settings.tuning().trafficClass());
            }
            InetSocketAddress source = new InetSocketAddress(rail.port().address(), 0);
            created.resolveAddress(source, target.address(), settings.timeout());
        }

        private void onEvent(CmId of, CmEvent event) {
            switch (event.type()) {
                case ADDRESS_RESOLVED -> of.resolveRoute(settings.timeout());
                case ROUTE_RESOLVED -> connect(of);
                case CONNECT_RESPONSE -> establish(of, event);
                case REJECTED -> fail(Reason.PEER_GONE, "refused: " + Handshake.meaningOf(event.privateData()), null);
                case ADDRESS_ERROR, ROUTE_ERROR, UNREACHABLE, DISCONNECTED ->
                    fail(Reason.PEER_GONE, event.describe(), null);
                default -> fail(Reason.TRANSPORT_ERROR, event.describe(), null);
            }
        }

        private void connect(CmId of) {
            if (!of.isOn(rail.context())) {
                throw new IllegalStateException(
                        "the route to " + target.address() + " does not start at " + rail.port());
            }
            int wanted = Math.min(settings.queueDepth(), rail.limits().maxWorkRequests() - 1);
            depth = Integer.highestOneBit(wanted);
            QueueSizes sizes = new QueueSizes(depth, 2, 1, INLINE_BYTES);
            QueuePair created = rail.domain().createQueuePair(sizes, target.completions(), target.completions(), null);
            pair = created;
            created.initialize(of, Set.of());
            int initiatorDepth =
                    Math.min(settings.initiatorDepth(), rail.limits().maxReadsAsInitiator());
            of.connect(new ConnectionParameters(
                    created, initiatorDepth, 1, settings.retries(), ConnectSettings.RNR_RETRIES, request.encoded()));
        }

        private void establish(CmId of, CmEvent event) {
            QueuePair connected = pair;
            if (connected == null) {
                throw new IllegalStateException("CONNECT_RESPONSE before the queue pair was created");
            }
            if (!request.isAnsweredBy(event.privateData(), settings.secret())) {
                fail(
                        Reason.TRANSPORT_ERROR,
                        "the peer does not know this application's secret (spark.authenticate)",
                        null);
                return;
            }
            connected.readyToReceive(of, settings.tuning(), ConnectSettings.RNR_TIMER, 1);
            connected.readyToSend(of, settings.tuning());
            of.establish();
            attempts.remove(this);
            long portLimit = rail.port().attributes().maxMessageBytes();
            EstablishedPair established = new EstablishedPair(
                    rail, of, connected, rail.controlMemory().take(), depth, (int)
                            Math.min(settings.readBytes(), portLimit));
            ids.listen(of, later -> onLaterEvent(established, later));
            listener.connected(established);
        }

        private void onLaterEvent(EstablishedPair established, CmEvent event) {
            if (event.type() == CmEvent.Type.DISCONNECTED || event.type() == CmEvent.Type.DEVICE_REMOVAL) {
                listener.broken(established, failure(Reason.PEER_GONE, "connection ended: " + event.describe(), null));
            }
        }

        void fail(Reason reason, String why, @Nullable Throwable cause) {
            attempts.remove(this);
            ReadFailedException failure = failure(reason, why, cause);
            LOG.debug("{}", failure.getMessage());
            try {
                CmId endedId = id;
                QueuePair endedPair = pair;
                if (endedPair != null) {
                    endedPair.close();
                }
                if (endedId != null) {
                    ids.end(rail, endedId);
                }
            } finally {
                listener.connectFailed(failure);
            }
        }

        private ReadFailedException failure(Reason reason, String why, @Nullable Throwable cause) {
            String message = target + ": " + why;
            return cause == null
                    ? new ReadFailedException(reason, message)
                    : new ReadFailedException(reason, message, cause);
        }
    }
}
