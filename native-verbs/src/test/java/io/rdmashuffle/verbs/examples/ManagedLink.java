// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceLimits;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A link made by librdmacm. The client's request and the server's answer carry what the program has to say.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns its side, and the events with the id.
 */
final class ManagedLink implements Link {
    /** Enough for 16 x 64 KiB on the wire. */
    private static final int MAX_READS = 16;
    /** As ibv_rc_pingpong: again after 0.64 ms without a receive, without end. */
    private static final int MIN_RNR_TIMER = 12;

    private static final int RETRIES = 7;
    /** A disconnected peer answers at once; one that has gone never does. */
    private static final Duration GOODBYE = Duration.ofSeconds(1);

    private final ManagerEvents events;
    private final CmId id;
    private final Side side;
    private final String peer;
    private final byte[] told;
    private boolean ended;

    private ManagedLink(ManagerEvents events, CmId id, Side side, byte[] told) {
        this.events = events;
        this.id = id;
        this.side = side;
        this.peer = HostPort.text(Objects.requireNonNull(id.remoteAddress(), "a connected id knows its peer"));
        this.told = told;
    }

    /**
     * Connects to a server.
     *
     * @param source this side's address; null for the one that the routing table gives
     * @param timeout of each step
     * @param request private data for the server
     * @param prepare is given this side before the peer can send
     */
    static ManagedLink connect(
            VerbsLibrary library,
            @Nullable InetAddress source,
            InetSocketAddress server,
            Duration timeout,
            Side.Needs needs,
            byte[] request,
            Consumer<Side> prepare)
            throws IOException {
        String during = "connect to " + HostPort.text(server);
        ManagerEvents events = new ManagerEvents(library);
        Side side = null;
        boolean made = false;
        try {
            CmId id = events.channel().createId();
            id.resolveAddress(source == null ? null : new InetSocketAddress(source, 0), server, timeout);
            events.await(CmEvent.Type.ADDRESS_RESOLVED, timeout, during);
            id.resolveRoute(timeout);
            events.await(CmEvent.Type.ROUTE_RESOLVED, timeout, during);
            side = Side.create(Objects.requireNonNull(id.context(), "a resolved id is on a device"), needs);
            DeviceLimits limits = side.context().limits();
            int asked = Math.min(MAX_READS, limits.maxReadsAsInitiator());
            int served = Math.min(MAX_READS, limits.maxReadsAsTarget());
            side.pair().initialize(id, needs.remoteRights());
            prepare.accept(side);
            id.connect(parameters(side, asked, served, request));
            boolean iwarp = side.context().transport() == Transport.IWARP;
            CmEvent answer =
                    events.await(iwarp ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE, timeout, during);
            ready(side, id, Math.min(asked, answer.initiatorDepth()), Math.min(served, answer.responderResources()));
            id.establish();
            ManagedLink link = new ManagedLink(events, id, side, answer.privateData());
            made = true;
            return link;
        } finally {
            if (!made) {
                close(side, events);
            }
        }
    }

    /**
     * Accepts a request.
     *
     * @param events taken over
     * @param timeout of the client's answer
     * @param prepare receives this side before the peer can send; returns the private data for the client
     */
    static ManagedLink accept(
            ManagerEvents events, CmEvent request, Duration timeout, Side.Needs needs, Function<Side, byte[]> prepare)
            throws IOException {
        Side side = null;
        boolean made = false;
        try {
            CmId id = request.id();
            Context context = Objects.requireNonNull(id.context(), "a request comes in on a device");
            side = Side.create(context, needs);
            DeviceLimits limits = context.limits();
            int asked = Math.min(Math.min(MAX_READS, limits.maxReadsAsInitiator()), request.initiatorDepth());
            int served = Math.min(Math.min(MAX_READS, limits.maxReadsAsTarget()), request.responderResources());
            side.pair().initialize(id, needs.remoteRights());
            ready(side, id, asked, served);
            id.accept(parameters(side, asked, served, prepare.apply(side)));
            ManagedLink link = new ManagedLink(events, id, side, request.privateData());
            events.await(CmEvent.Type.ESTABLISHED, timeout, "connection from " + link.peer);
            made = true;
            return link;
        } finally {
            if (!made) {
                close(side, events);
            }
        }
    }

    private static ConnectionParameters parameters(Side side, int asked, int served, byte[] told) {
        return new ConnectionParameters(side.pair(), asked, served, RETRIES, RETRIES, told);
    }

    private static void ready(Side side, CmId id, int asked, int served) {
        side.pair().readyToReceive(id, QueuePairTuning.DEFAULT, MIN_RNR_TIMER, served);
        side.pair().readyToSend(id, QueuePairTuning.DEFAULT, asked);
    }

    /** Returns what the peer said in its request or answer, perhaps with zeros behind it. */
    byte[] told() {
        return told;
    }

    @Override
    public Side side() {
        return side;
    }

    @Override
    public String peer() {
        return peer;
    }

    @Override
    public String path() {
        return "by librdmacm on " + side.context().deviceName() + " port " + id.portNumber();
    }

    @Override
    public void requirePeer() throws IOException {
        CmEvent event = events.next();
        if (event != null && event.type() == CmEvent.Type.DEVICE_REMOVAL) {
            throw new IOException("device " + side.context().deviceName() + " was removed");
        }
        ended |= event != null && event.type() == CmEvent.Type.DISCONNECTED;
        if (ended) {
            throw new IOException("peer " + peer + " has closed the connection before the end");
        }
    }

    /** Waits briefly for the peer to close, so that no sent message is lost. */
    void awaitGoodbye() {
        long deadline = System.nanoTime() + GOODBYE.toNanos();
        while (!ended && System.nanoTime() - deadline < 0) {
            try {
                events.await(CmEvent.Type.DISCONNECTED, GOODBYE, "end");
                ended = true;
            } catch (IOException e) {
                // another event, or none: the run is over all the same
            }
        }
    }

    @Override
    public void close() {
        id.disconnect();
        close(side, events);
    }

    private static void close(@Nullable Side side, ManagerEvents events) {
        try {
            if (side != null) {
                side.close();
            }
        } finally {
            events.close();
        }
    }
}
