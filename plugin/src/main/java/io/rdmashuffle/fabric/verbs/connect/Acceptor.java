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
    private final Map<PeerLane, Served> served = new HashMap<>();
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
        for (Rail rail : rails) {
            QueryResponder responder = responderOf.apply(rail);
            responders.add(responder);
            responderByRail.put(rail, responder);
        }
    }

    /** Who reads through a queue pair: a process and one of its lanes. */
    private record PeerLane(long fabricId, int lane) {}

    /** A queue pair that a peer reads through. */
    private record Served(CmId id, QueryResponder responder, Querier querier) {
        QueuePair pair() {
            return querier.pair();
        }
    }

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

    /** Takes back what peers have not released in time. */
    void expire() {
        responders.forEach(QueryResponder::expire);
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
        Handshake.Refusal refusal = check(request, event);
        QueryResponder responder = responders.stream()
                .filter(candidate -> id.isOn(candidate.rail().context()))
                .findFirst()
                .orElse(null);
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

    private Handshake.@Nullable Refusal check(@Nullable Handshake request, CmEvent event) {
        if (closed) {
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
        return served.size() >= ConnectSettings.MAX_SERVED ? Handshake.Refusal.TOO_MANY : null;
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
                revoke(lane);
            }
        }
    }

    /** Ends a queue pair whatever becomes of the others; one that cannot be destroyed is in error at least. */
    private void revoke(PeerLane lane) {
        try {
            end(lane, "it left the application");
        } catch (RuntimeException e) {
            LOG.warn("Could not close a queue pair of a process that left the application", e);
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
        boolean accepted = false;
        try {
            int resources = Math.min(
                    event.responderResources(), responder.rail().limits().maxReadsAsTarget());
            pair.initialize(id, Set.of(Access.REMOTE_READ));
            pair.readyToReceive(
                    id,
                    settings.tuning(),
                    ConnectSettings.rnrTimer(responder.rail().pins()),
                    resources);
            pair.readyToSend(id, settings.tuning());
            id.accept(new ConnectionParameters(
                    pair,
                    1,
                    resources,
                    settings.retries(),
                    ConnectSettings.QUESTION_RNR_RETRIES,
                    request.answer(settings.secret(), ConnectionEnds.ofAnswer(id, pair.number()))));
            Served added = new Served(id, responder, responder.add(pair));
            served.put(lane, added);
            ids.listen(id, later -> onEvent(lane, added, later));
            accepted = true;
        } finally {
            if (!accepted) {
                pair.close();
            }
        }
    }

    private void onEvent(PeerLane lane, Served of, CmEvent event) {
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

    /** Ends queue pairs that the device says are dead. */
    void onDeviceEvent(AsyncEvent event) {
        if (event.type() != AsyncEvent.Type.QUEUE_PAIR_FATAL) {
            return;
        }
        for (Map.Entry<PeerLane, Served> entry : List.copyOf(served.entrySet())) {
            if (event.isAbout(entry.getValue().pair())) {
                end(entry.getKey(), event.description());
            }
        }
    }

    private void end(PeerLane lane, String why) {
        Served ended = served.remove(lane);
        if (ended == null) {
            return;
        }
        LOG.debug("{} no longer reads through {}: {}", ended.id().remoteAddress(), ended.pair(), why);
        ended.responder().remove(ended.querier());
        try {
            // Receives of this peer's unread queries go back to the shared queue before its pair takes them along.
            ended.pair().fail();
            ended.responder().serve();
        } catch (RuntimeException e) {
            LOG.debug("{} was in error already", ended.pair(), e);
        }
        try {
            ended.pair().close();
            ended.responder().release(ended.querier());
        } finally {
            ids.end(ended.responder().rail(), ended.id());
        }
    }

    @Override
    public void close() {
        closed = true;
        List.copyOf(served.keySet()).forEach(lane -> end(lane, "fabric closed"));
        responders.forEach(QueryResponder::close);
    }
}
