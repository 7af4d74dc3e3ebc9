// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.text.Quantities;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Client side of a rail: makes the connections for reads of this process, step by step, a window of them concurrently.
 *
 * <pre>
 *  resolve address -> ADDRESS_RESOLVED -> resolve route -> ROUTE_RESOLVED -> queue pair to INIT, connect
 *  -> CONNECT_RESPONSE -> check the peer's proof, queue pair to RTR, RTS, establish -> the listener has a connection
 *  (on iWARP, whose connection manager moves the queue pair: ESTABLISHED -> check the peer's proof -> the same)
 * </pre>
 *
 * <p>Attempts beyond the window wait in order. Their time starts with their turn, and attempts that are no longer
 * needed are dropped. Each listener has one attempt, which bounds the queue.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns ids and queue pairs until a listener owns them.
 *
 * <p><b>Source:</b> rdma_cm(7), client operation; rdma_establish(3).
 */
final class Connector implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Connector.class);
    private static final int INLINE_BYTES = 64;
    private static final Set<Errno> GONE =
            EnumSet.of(Errno.ECONNREFUSED, Errno.ECONNRESET, Errno.EHOSTUNREACH, Errno.ENETUNREACH);

    /** Number of current attempts above which further ones are spread over {@link #JITTER_NANOS}. */
    static final int CROWD = 8;

    /** Executors that learn of the same peers in the same order must not connect to them in step. */
    static final long JITTER_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final EventChannel events;
    private final ConnectionIds ids;
    private final long fabricId;
    private final ConnectSettings settings;
    private final LongSupplier nanoClock;
    private final LongUnaryOperator random;
    private final LogLimit<Rail> timeoutLines;
    private final Queue<Attempt> waiting = new ArrayDeque<>();
    private final List<Attempt> underWay = new ArrayList<>();
    private final AttemptWindow window;
    private boolean closed;

    /**
     * Makes no connection yet.
     *
     * @param window how many attempts may be under way
     * @param random draws a number from 0 on, below its argument
     */
    Connector(
            EventChannel events,
            ConnectionIds ids,
            long fabricId,
            ConnectSettings settings,
            LongSupplier nanoClock,
            AttemptWindow window,
            LongUnaryOperator random) {
        this.events = events;
        this.ids = ids;
        this.fabricId = fabricId;
        this.settings = settings;
        this.nanoClock = nanoClock;
        this.window = window;
        this.random = random;
        this.timeoutLines = new LogLimit<>(nanoClock);
    }

    /** Returns the nanoseconds until {@link #serve} has work without an event, at most {@code idleNanos}. */
    long nanosToWait(long idleNanos) {
        long left = idleNanos;
        long now = nanoClock.getAsLong();
        for (Attempt attempt : underWay) {
            left = Math.min(left, attempt.nanosToNextStep(now));
        }
        return Math.max(0, left);
    }

    /** Returns whether attempts are under way. */
    boolean isBusy() {
        return !underWay.isEmpty();
    }

    /** Connects, at once or in turn; the listener receives the outcome. */
    void start(ConnectionTarget target, ConnectionListener listener) {
        Attempt attempt = new Attempt(target, listener);
        if (closed) {
            attempt.fail(Reason.CLOSED, "verbs fabric is closed", null);
        } else if (!attempt.failIfPortIsDown()) {
            waiting.add(attempt);
            serve();
        }
    }

    /** Fails timed-out attempts, and starts the next ones. */
    void serve() {
        if (underWay.isEmpty() && waiting.isEmpty()) {
            return;
        }
        long now = nanoClock.getAsLong();
        for (Attempt attempt : List.copyOf(underWay)) {
            attempt.expire(now);
        }
        while (hasRoom(now) && !waiting.isEmpty()) {
            Attempt next = waiting.remove();
            if (next.listener.isWanted()) {
                next.beginsAt = now + (underWay.size() < CROWD ? 0 : random.applyAsLong(JITTER_NANOS));
                underWay.add(next);
            } else {
                LOG.debug("No connection to {}: nothing waits for it any more", next.target);
                next.listener.notTried();
            }
        }
        for (Attempt attempt : List.copyOf(underWay)) {
            attempt.beginIfDue(now);
        }
    }

    private boolean hasRoom(long now) {
        if (underWay.size() >= AttemptWindow.MAX) {
            return false;
        }
        int counted = 0;
        for (Attempt attempt : underWay) {
            counted += attempt.isStalled(now) ? 0 : 1;
        }
        return counted < window.size();
    }

    @Override
    public void close() {
        closed = true;
        List<Attempt> left = new ArrayList<>(underWay);
        left.addAll(waiting);
        waiting.clear();
        for (Attempt attempt : left) {
            attempt.fail(Reason.CLOSED, "verbs fabric is closed", null);
        }
    }

    /** One attempt to connect. */
    private final class Attempt {
        private final ConnectionTarget target;
        private final ConnectionListener listener;
        private final Rail rail;
        private long beginsAt;
        private boolean begun;
        private long begunAt;
        private @Nullable CmId id;
        private @Nullable QueuePair pair;
        private @Nullable Handshake request;
        private int depth;

        Attempt(ConnectionTarget target, ConnectionListener listener) {
            this.target = target;
            this.listener = listener;
            this.rail = target.rail();
        }

        boolean failIfPortIsDown() {
            boolean down = !rail.isActive();
            if (down) {
                fail(Reason.PEER_GONE, "the port is down", null);
            }
            return down;
        }

        /** Removes the first step if it is time; the deadline counts from here. */
        void beginIfDue(long now) {
            if (begun || now - beginsAt < 0) {
                return;
            }
            begun = true;
            begunAt = now;
            // It may have gone down while this waited.
            if (!failIfPortIsDown()) {
                run(this::resolve);
            }
        }

        boolean isStalled(long now) {
            return begun && now - begunAt >= AttemptWindow.STALLED_NANOS;
        }

        /** Returns the nanoseconds until this starts, makes room for waiting attempts, or times out. */
        long nanosToNextStep(long now) {
            if (!begun) {
                return beginsAt - now;
            }
            boolean makesRoom = !waiting.isEmpty() && !isStalled(now);
            return begunAt
                    + (makesRoom
                            ? AttemptWindow.STALLED_NANOS
                            : settings.timeout().toNanos())
                    - now;
        }

        void expire(long now) {
            if (begun && now - begunAt >= settings.timeout().toNanos()) {
                failInTime("no answer within " + Quantities.duration(settings.timeout()));
            }
        }

        /** Runs a step; a step that throws ends the attempt. */
        void run(Runnable step) {
            try {
                step.run();
            } catch (NativeException e) {
                // On iWARP the kernel may connect at once, and says then how that ended.
                if (Errno.ETIMEDOUT.is(e.errno())) {
                    failInTime(String.valueOf(e.getMessage()));
                    return;
                }
                boolean gone = GONE.stream().anyMatch(errno -> errno.is(e.errno()));
                fail(gone ? Reason.PEER_GONE : Reason.TRANSPORT_ERROR, String.valueOf(e.getMessage()), e);
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
                // On iWARP the connection is established with the peer's answer.
                case CONNECT_RESPONSE, ESTABLISHED -> establish(of, event);
                case REJECTED -> fail(Reason.PEER_GONE, "refused: " + Handshake.meaningOf(event.privateData()), null);
                case ADDRESS_ERROR, ROUTE_ERROR, UNREACHABLE -> {
                    if (Errno.ETIMEDOUT.is(-event.status())) {
                        failInTime(event.describe());
                    } else {
                        fail(Reason.PEER_GONE, event.describe(), null);
                    }
                }
                case DISCONNECTED -> fail(Reason.PEER_GONE, event.describe(), null);
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
            created.initialize(of, rail.rightsOfReadPeers());
            int initiatorDepth =
                    Math.min(settings.initiatorDepth(), rail.limits().maxReadsAsInitiator());
            Handshake asked = Handshake.request(
                    fabricId,
                    target.fabricId(),
                    target.lane(),
                    settings.secret(),
                    ConnectionEnds.ofRequest(of, rail.numberForPeers(created)));
            request = asked;
            of.connect(new ConnectionParameters(
                    created,
                    initiatorDepth,
                    1,
                    settings.retries(),
                    ConnectSettings.ANSWER_RNR_RETRIES,
                    asked.encoded()));
        }

        private void establish(CmId of, CmEvent event) {
            QueuePair connected = pair;
            Handshake asked = request;
            if (connected == null || asked == null) {
                throw new IllegalStateException(event.type() + " before the queue pair was created");
            }
            if (!asked.isAnsweredBy(event.privateData(), settings.secret(), ConnectionEnds.of(event, false))) {
                fail(
                        Reason.TRANSPORT_ERROR,
                        "the peer does not know this application's secret (spark.authenticate)",
                        null);
                return;
            }
            connected.readyToReceive(of, settings.tuning(), ConnectSettings.RNR_TIMER, 1);
            connected.readyToSend(of, settings.tuning());
            of.establish();
            rail.connected(connected);
            underWay.remove(this);
            window.ended(begunAt, nanoClock.getAsLong());
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

        /** Ends an attempt whose time is up: here, or in the kernel, which is given as long for its steps. */
        private void failInTime(String why) {
            window.ended(begunAt, nanoClock.getAsLong());
            String told = why + " (spark.shuffle.rdma.fabric.verbs.connectTimeout)";
            int others = timeoutLines.take(rail);
            if (others != LogLimit.SILENT) {
                LOG.warn(
                        "No connection to {}: {}; the next path of spark.shuffle.rdma.fabric.mode, or Spark's block"
                                + " transfer, serves it ({} others since the last warning)",
                        target,
                        told,
                        others);
            }
            fail(Reason.NOT_CONNECTED, told, null);
        }

        void fail(Reason reason, String why, @Nullable Throwable cause) {
            underWay.remove(this);
            ReadFailedException failure = failure(reason, why, cause);
            LOG.debug("{}", failure.getMessage());
            try {
                CmId endedId = id;
                QueuePair endedPair = pair;
                if (endedPair != null) {
                    endedPair.close();
                }
                if (endedId != null) {
                    ids.end(endedId);
                }
            } finally {
                listener.connectFailed(failure);
            }
        }

        private ReadFailedException failure(Reason reason, String why, @Nullable Throwable cause) {
            return new ReadFailedException(reason, target + ": " + why, cause);
        }
    }
}
