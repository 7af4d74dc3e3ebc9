package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.QueueSizes;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the connections that this process reads through, step by step.
 *
 * <pre>
 *  resolve address -> ADDRESS_RESOLVED -> resolve route -> ROUTE_RESOLVED -> queue pair to INIT, connect
 *  -> CONNECT_RESPONSE -> check the peer's proof, queue pair to RTR, RTS, establish -> the link has a connection
 * </pre>
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns ids and queue pairs until a link takes them over.
 *
 * <p><b>Source:</b> rdma_cm(7), client operation; rdma_establish(3).
 */
final class Connector implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Connector.class);
    private static final int RNR_RETRIES = 6;
    private static final int MAX_RETRIES = 7;
    private static final int INLINE_BYTES = 64;

    private final ControlLoop control;
    private final EventChannel events;
    private final long fabricId;
    private final VerbsSettings settings;
    private final List<Attempt> attempts = new ArrayList<>();
    private boolean closed;

    Connector(ControlLoop control, EventChannel events, long fabricId, VerbsSettings settings) {
        this.control = control;
        this.events = events;
        this.fabricId = fabricId;
        this.settings = settings;
    }

    boolean isBusy() {
        return !attempts.isEmpty();
    }

    /** Starts an attempt; the link hears of its end, whatever it is. */
    void start(Link link) {
        Attempt attempt = new Attempt(link);
        if (closed) {
            attempt.fail(Reason.CLOSED, "verbs fabric is closed", null);
            return;
        }
        attempts.add(attempt);
        if (!attempt.rail.isActive()) {
            attempt.fail(Reason.PEER_GONE, "the port is down", null);
            return;
        }
        attempt.run(() -> attempt.resolve(settings.connectTimeout()));
    }

    /** Fails attempts whose time is up. */
    void expire() {
        for (Attempt attempt : List.copyOf(attempts)) {
            if (System.nanoTime() - attempt.deadline >= 0) {
                attempt.fail(
                        Reason.TIMED_OUT,
                        "no connection within " + settings.connectTimeout()
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

    /** One attempt of one link. */
    private final class Attempt {
        private final Link link;
        private final Rail rail;
        private final long deadline =
                System.nanoTime() + settings.connectTimeout().toNanos();
        private final Handshake request;
        private @Nullable CmId id;
        private @Nullable QueuePair pair;
        private int depth;

        Attempt(Link link) {
            this.link = link;
            this.rail = link.worker().rail();
            this.request = Handshake.request(fabricId, link.peer().fabricId(), link.lane(), settings.secret());
        }

        /** Runs a step; a step that throws ends the attempt. */
        void run(Runnable step) {
            try {
                step.run();
            } catch (RuntimeException e) {
                fail(Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e);
            }
        }

        void resolve(Duration timeout) {
            CmId created = events.createId();
            id = created;
            control.listen(created, event -> run(() -> onEvent(created, event)));
            if (settings.tuning().trafficClass() > 0) {
                created.typeOfService(settings.tuning().trafficClass());
            }
            created.resolveAddress(new InetSocketAddress(rail.port().address(), 0), link.target(), timeout);
        }

        private void onEvent(CmId of, CmEvent event) {
            switch (event.type()) {
                case ADDRESS_RESOLVED -> of.resolveRoute(settings.connectTimeout());
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
                throw new IllegalStateException("the way to " + link.target() + " does not begin at " + rail.port());
            }
            int wanted = Math.min(settings.queueDepth(), rail.limits().maxWorkRequests() - 1);
            depth = Integer.highestOneBit(wanted);
            QueueSizes sizes = new QueueSizes(depth, 2, 1, INLINE_BYTES);
            QueuePair created = rail.domain()
                    .createQueuePair(sizes, link.worker().queue(), link.worker().queue(), null);
            pair = created;
            created.initialize(of, Set.of());
            int initiatorDepth =
                    Math.min(settings.initiatorDepth(), rail.limits().maxReadsAsInitiator());
            of.connect(new ConnectionParameters(
                    created, initiatorDepth, 1, retries(settings), RNR_RETRIES, request.encoded()));
        }

        private void establish(CmId of, CmEvent event) {
            QueuePair connected = pair;
            if (connected == null) {
                throw new IllegalStateException("an answer before the question");
            }
            if (!request.isAnsweredBy(event.privateData(), settings.secret())) {
                fail(Reason.TRANSPORT_ERROR, "it does not know this application's secret (spark.authenticate)", null);
                return;
            }
            connected.readyToReceive(of, settings.tuning(), Acceptor.RNR_TIMER, 1);
            connected.readyToSend(of, settings.tuning());
            of.establish();
            attempts.remove(this);
            long portLimit = rail.port().attributes().maxMessageBytes();
            Connection connection = new Connection(
                    link,
                    of,
                    connected,
                    rail.controlMemory(),
                    rail.controlMemory().take(),
                    depth,
                    (int) Math.min(settings.readBytes(), portLimit));
            control.listen(of, later -> onLaterEvent(connection, later));
            link.worker().execute(() -> link.connected(connection));
        }

        private void onLaterEvent(Connection connection, CmEvent event) {
            if (event.type() == CmEvent.Type.DISCONNECTED || event.type() == CmEvent.Type.DEVICE_REMOVAL) {
                ReadFailedException failure = failure(Reason.PEER_GONE, "connection ended: " + event.describe(), null);
                link.worker().execute(() -> link.broken(connection, failure));
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
                    control.farewell(rail, endedId);
                }
            } finally {
                link.worker().execute(() -> link.connectFailed(failure));
            }
        }

        private ReadFailedException failure(Reason reason, String why, @Nullable Throwable cause) {
            String message =
                    "executor " + link.peer().peerId() + " at " + link.target() + " from " + rail.port() + ": " + why;
            return cause == null
                    ? new ReadFailedException(reason, message)
                    : new ReadFailedException(reason, message, cause);
        }
    }

    /** Returns how often a packet is sent again, the most that is possible unless settings say otherwise. */
    static int retries(VerbsSettings settings) {
        int wanted = settings.tuning().retries();
        return wanted == QueuePairTuning.AS_PROPOSED ? MAX_RETRIES : wanted;
    }
}
