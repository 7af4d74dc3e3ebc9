// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.AsyncEvent;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.QueuePair;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets proven peers read this process's regions, and answers what they ask.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> owns the queue pairs that peers read through, and the rails' responders.
 *
 * <p><b>Source:</b> rdma_cm(7), server operation.
 */
final class Acceptor implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Acceptor.class);

    /** A request is remembered for so many others after it, and refused when it is played back. */
    private static final int REMEMBERED_NONCES = 1 << 16;

    /** As the registry remembers them; an executor comes and goes a few times an hour at most. */
    static final int REMEMBERED_REVOKED = 1 << 13;

    private final ConnectionIds ids;
    private final long fabricId;
    private final ConnectSettings settings;
    private final LogLimit<Refused> refusalLines;
    private final List<QueryResponder> responders = new ArrayList<>();
    private final Map<Rail, QueryResponder> responderByRail = new HashMap<>();
    private final Map<PeerLane, ServedPair> served = new HashMap<>();
    private final EndingPairs ending;
    private final LinkedHashSet<ByteBuffer> nonces = new LinkedHashSet<>();
    /** Processes that have left the membership, by fabric id. */
    private final LinkedHashSet<Long> revoked = new LinkedHashSet<>();

    private boolean closed;

    Acceptor(
            ConnectionIds ids,
            List<Rail> rails,
            long fabricId,
            ConnectSettings settings,
            Function<Rail, QueryResponder> responderOf,
            LongSupplier nanoClock) {
        this.ids = ids;
        this.fabricId = fabricId;
        this.settings = settings;
        this.refusalLines = new LogLimit<>(nanoClock);
        this.ending = new EndingPairs(ids, nanoClock);
        for (Rail rail : rails) {
            QueryResponder responder = responderOf.apply(rail);
            responders.add(responder);
            responderByRail.put(rail, responder);
        }
    }

    /** Who reads through a queue pair: a process and one of its lanes. */
    private record PeerLane(long fabricId, int lane) {}

    /** What lines about refusals are about. */
    private record Refused(@Nullable InetAddress host, Handshake.Refusal why) {}

    int fileDescriptor(Rail rail) {
        return responder(rail).fileDescriptor();
    }

    private QueryResponder responder(Rail rail) {
        QueryResponder responder = responderByRail.get(rail);
        if (responder == null) {
            throw new IllegalStateException("a rail of another fabric");
        }
        return responder;
    }

    /** Responds to what peers have asked. */
    void serve() {
        responders.forEach(QueryResponder::serve);
    }

    /** Takes back what peers have not released in time, and what ends without the device telling of it. */
    void expire() {
        responders.forEach(QueryResponder::expire);
        ending.expire();
    }

    /** Has the next query wake the control thread; returns false if one has come meanwhile. */
    boolean arm() {
        boolean quiet = true;
        for (QueryResponder responder : responders) {
            quiet &= responder.arm();
        }
        return quiet;
    }

    /** Takes or refuses a request to connect. */
    void onRequest(CmEvent event) {
        CmId id = event.id();
        Handshake request = Handshake.read(event.privateData());
        QueryResponder responder = responders.stream()
                .filter(candidate -> id.isOn(candidate.rail().context()))
                .findFirst()
                .orElse(null);
        Handshake.Refusal refusal = check(request, event, responder);
        if (refusal != null || request == null || responder == null) {
            Handshake.Refusal told = refusal == null ? Handshake.Refusal.NOT_READY : refusal;
            tellOfRefusal(id.remoteAddress(), told);
            try (id) {
                id.reject(Handshake.refusal(told));
            }
            return;
        }
        try {
            accept(event, request, responder);
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

    private Handshake.@Nullable Refusal check(
            @Nullable Handshake request, CmEvent event, @Nullable QueryResponder responder) {
        if (closed || responder == null) {
            return Handshake.Refusal.NOT_READY;
        }
        if (request == null) {
            return Handshake.Refusal.NOT_A_HANDSHAKE;
        }
        if (request.to() != fabricId) {
            return Handshake.Refusal.ANOTHER_PROCESS;
        }
        if (settings.secret().isRequired()
                && !(request.isProven(settings.secret(), ConnectionEnds.of(event, true)) && isFresh(request))) {
            return Handshake.Refusal.NOT_PROVEN;
        }
        if (revoked.contains(request.from())) {
            return Handshake.Refusal.NOT_A_MEMBER;
        }
        boolean full = served.size() + ending.count() >= ConnectSettings.MAX_SERVED || !responder.hasRoom();
        return full ? Handshake.Refusal.TOO_MANY : null;
    }

    /** Ends all queue pairs that a process reads through, and refuses its requests until it is admitted. */
    void revoke(long of) {
        revoked.remove(of);
        if (revoked.size() == REMEMBERED_REVOKED) {
            revoked.remove(revoked.iterator().next());
        }
        revoked.add(of);
        for (PeerLane lane : List.copyOf(served.keySet())) {
            if (lane.fabricId() == of) {
                end(lane, "it left the application");
            }
        }
    }

    /** Takes the requests of a process again that was revoked. */
    void admit(long of) {
        revoked.remove(of);
    }

    private boolean isFresh(Handshake request) {
        if (nonces.size() == REMEMBERED_NONCES) {
            nonces.remove(nonces.iterator().next());
        }
        return nonces.add(request.nonce());
    }

    private void accept(CmEvent event, Handshake request, QueryResponder responder) {
        CmId id = event.id();
        PeerLane lane = new PeerLane(request.from(), request.lane());
        end(lane, "the peer connected anew");
        QueuePair pair = responder.createQueuePair();
        Querier querier = null;
        boolean accepted = false;
        try {
            int resources = Math.min(
                    event.responderResources(), responder.rail().limits().maxReadsAsTarget());
            pair.initialize(id, Set.of(Access.REMOTE_READ));
            // Before the peer can ask: on iWARP a message that finds no receive ends the connection.
            querier = responder.add(pair);
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
            ServedPair added = new ServedPair(id, responder, querier);
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
            ended.responder().remove(ended.querier());
            ending.add(ended);
        }
    }

    @Override
    public void close() {
        closed = true;
        List.copyOf(served.keySet()).forEach(lane -> end(lane, "fabric closed"));
        ending.close();
        responders.forEach(QueryResponder::close);
    }
}
