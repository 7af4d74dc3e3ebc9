// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.verbs.device.InheritedRegions;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Server side of one rail: accepts authenticated peers, and answers their queries.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the queue pairs that peers read through, and the rail's responder.
 *
 * <p><b>Source:</b> rdma_cm(7), server operation.
 */
final class Acceptor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);

    private final ConnectionIds ids;
    private final long fabricId;
    private final ConnectSettings settings;
    private final LogLimit<Refused> refusalLines;
    private final QueryResponder responder;
    private final Admissions admissions;
    private final Map<PeerLane, ServedPair> served = new HashMap<>();
    private final EndingPairs ending;
    private boolean closed;

    Acceptor(
            ConnectionIds ids,
            QueryResponder responder,
            long fabricId,
            ConnectSettings settings,
            Admissions admissions,
            LongSupplier nanoClock) {
        this.ids = ids;
        this.responder = responder;
        this.fabricId = fabricId;
        this.settings = settings;
        this.admissions = admissions;
        this.refusalLines = new LogLimit<>(nanoClock);
        this.ending = new EndingPairs(ids, responder, nanoClock);
    }

    /** A served queue pair: the process that reads, the one whose pool it reads, and one of its lanes. */
    private record PeerLane(long from, long to, int lane) {}

    /** Subject of log lines about refusals. */
    private record Refused(@Nullable InetAddress host, Handshake.Refusal why) {}

    int fileDescriptor() {
        return responder.fileDescriptor();
    }

    /** Responds to what peers have asked. */
    void serve() {
        responder.serve();
    }

    /** Reclaims what peers have not released in time, and what ends without the device telling of it. */
    void expire() {
        responder.expire();
        ending.expire();
    }

    /** Arms the wake-up of the control thread by the next query; returns false if one has arrived meanwhile. */
    boolean arm() {
        return responder.arm();
    }

    /** Accepts or refuses a request to connect. */
    void onRequest(CmEvent event) {
        CmId id = event.id();
        Handshake request = Handshake.read(event.privateData());
        InheritedRegions inherited = request == null ? null : responder.rail().inherited(request.to());
        Handshake.Refusal refusal = check(request, inherited != null, event);
        if (refusal != null || request == null) {
            Handshake.Refusal told = refusal == null ? Handshake.Refusal.NOT_A_HANDSHAKE : refusal;
            tellOfRefusal(id.remoteAddress(), told);
            try (id) {
                id.reject(Handshake.refusal(told));
            }
            return;
        }
        try {
            accept(event, request, inherited);
        } catch (RuntimeException e) {
            LOG.warn("Could not accept a queue pair from {}", id.remoteAddress(), e);
            id.close();
        }
    }

    /** A peer that is refused asks again and again: one line a minute of each host and reason. */
    private void tellOfRefusal(@Nullable InetSocketAddress peer, Handshake.Refusal told) {
        int others = refusalLines.take(new Refused(peer == null ? null : peer.getAddress(), told));
        if (others == LogLimit.SILENT) {
            LOG.debug("Refused a queue pair from {}: {}", peer, told);
        } else {
            LOG.info("Refused a queue pair from {}: {} ({} more of that host before)", peer, told, others);
        }
    }

    private Handshake.@Nullable Refusal check(@Nullable Handshake request, boolean isInherited, CmEvent event) {
        if (closed || !event.id().isOn(responder.rail().context())) {
            return Handshake.Refusal.NOT_READY;
        }
        if (request == null) {
            return Handshake.Refusal.NOT_A_HANDSHAKE;
        }
        if (request.to() != fabricId && !isInherited) {
            return Handshake.Refusal.ANOTHER_PROCESS;
        }
        if (settings.secret().isRequired()
                && !(request.isProven(settings.secret(), ConnectionEnds.of(event, true))
                        && admissions.isFirst(request.nonce()))) {
            return Handshake.Refusal.NOT_PROVEN;
        }
        if (admissions.isRevoked(request.from())) {
            return Handshake.Refusal.NOT_A_MEMBER;
        }
        boolean full = served.size() + ending.count() >= ConnectSettings.MAX_SERVED || !responder.hasRoom();
        return full ? Handshake.Refusal.TOO_MANY : null;
    }

    /** Ends all queue pairs that a process reads through. */
    void endServed(long from) {
        endAll(lane -> lane.from() == from, "it left the application");
    }

    /** Ends all queue pairs through which the pool of an ended process is read. */
    void endInherited(long of) {
        endAll(lane -> lane.to() == of, "the pool of an ended process is not served any more");
    }

    private void endAll(Predicate<PeerLane> which, String why) {
        List.copyOf(served.keySet()).stream().filter(which).forEach(lane -> end(lane, why));
    }

    /** Serves this process's pool, or one that it has inherited. */
    private void accept(CmEvent event, Handshake request, @Nullable InheritedRegions inherited) {
        CmId id = event.id();
        PeerLane lane = new PeerLane(request.from(), request.to(), request.lane());
        end(lane, "the peer connected anew");
        QueuePair pair = responder.createQueuePair();
        QueryResponder.Querier querier = null;
        boolean accepted = false;
        try {
            int resources = Math.min(
                    event.responderResources(), responder.rail().limits().maxReadsAsTarget());
            pair.initialize(id, Set.of(Access.REMOTE_READ));
            // Before the peer can ask: on iWARP a message that finds no receive ends the connection.
            querier = responder.add(pair, inherited);
            pair.readyToReceive(
                    id,
                    settings.tuning(),
                    ConnectSettings.rnrTimer(responder.rail().pins()),
                    resources);
            pair.readyToSend(id, settings.tuning());
            responder.rail().connected(pair);
            id.accept(new ConnectionParameters(
                    pair,
                    1,
                    resources,
                    settings.retries(),
                    ConnectSettings.QUESTION_RNR_RETRIES,
                    request.answer(
                            settings.secret(),
                            ConnectionEnds.ofAnswer(id, responder.rail().numberForPeers(pair)))));
            ServedPair added = new ServedPair(id, querier);
            served.put(lane, added);
            ids.listen(id, later -> onEvent(lane, added, later));
            accepted = true;
        } finally {
            if (!accepted) {
                pair.close();
                if (querier != null) {
                    responder.remove(querier);
                    responder.release(querier);
                }
            }
        }
    }

    private void onEvent(PeerLane lane, ServedPair of, CmEvent event) {
        switch (event.type()) {
            case ESTABLISHED -> LOG.debug("{} reads through {}", of.id().remoteAddress(), of.pair());
            case TIMEWAIT_EXIT, ADDRESS_CHANGE -> LOG.debug("{}", event.describe());
            default -> {
                if (of.equals(served.get(lane))) {
                    end(lane, event.describe());
                }
            }
        }
    }

    /** Ends queue pairs that the device says are dead, or done with. */
    void onDeviceEvent(AsyncEvent event) {
        if (event.type() == AsyncEvent.Type.QUEUE_PAIR_FATAL || event.type() == AsyncEvent.Type.LAST_WQE_REACHED) {
            for (Map.Entry<PeerLane, ServedPair> entry : List.copyOf(served.entrySet())) {
                if (event.isAbout(entry.getValue().pair())) {
                    end(entry.getKey(), event.description());
                }
            }
        }
        ending.onDeviceEvent(event);
    }

    private void end(PeerLane lane, String why) {
        ServedPair ended = served.remove(lane);
        if (ended != null) {
            LOG.debug("{} no longer reads through {}: {}", ended.id().remoteAddress(), ended.pair(), why);
            responder.remove(ended.querier());
            ending.add(ended);
        }
    }

    @Override
    public void close() {
        closed = true;
        List.copyOf(served.keySet()).forEach(lane -> end(lane, "fabric closed"));
        ending.close();
        responder.close();
    }
}
