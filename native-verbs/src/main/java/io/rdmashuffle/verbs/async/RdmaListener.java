// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueuePairTuning;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Accepts connections at a port.
 *
 * <p><b>Threading:</b> thread-safe; its admission and its acceptor run on the endpoint's first progress thread and
 * must not block.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#listen} closes it; closing the endpoint closes the rest. Its
 * connections remain open.
 */
public final class RdmaListener implements AutoCloseable {
    private static final int BACKLOG = 128;

    private final Resources resources;
    private final ProgressThreads threads;
    private final ConnectionEvents events;
    private final CmId id;
    private final InetSocketAddress address;
    private final Function<ConnectRequest, ConnectAnswer> admission;
    private final @Nullable ReceiveSource receives;
    private final Consumer<RdmaConnection> preparation;
    private final Consumer<RdmaConnection> acceptor;
    private final Consumer<RdmaListener> onClose;

    /**
     * Prepares to listen.
     *
     * @param receives that messages of all connections take, null for receives of their own
     * @param preparation gets each connection before its request is accepted, which is the time for receives that the
     *     peer's first message must find; if it throws, the request is refused
     * @param acceptor gets each connection when it is established
     */
    RdmaListener(
            Resources resources,
            ProgressThreads threads,
            ConnectionEvents events,
            InetSocketAddress at,
            Function<ConnectRequest, ConnectAnswer> admission,
            @Nullable ReceiveSource receives,
            Consumer<RdmaConnection> preparation,
            Consumer<RdmaConnection> acceptor,
            Consumer<RdmaListener> onClose) {
        this.resources = resources;
        this.threads = threads;
        this.events = events;
        this.admission = admission;
        this.receives = receives;
        this.preparation = preparation;
        this.acceptor = acceptor;
        this.onClose = onClose;
        this.id = resources.events().createId();
        InetSocketAddress bound = null;
        try {
            id.bind(at);
            bound = id.localAddress();
            if (bound == null) {
                throw new IllegalStateException("rdma_bind_addr(" + at + ") left the id without an address");
            }
            this.address = bound;
        } finally {
            if (bound == null) {
                id.close();
            }
        }
    }

    /** Starts to listen, once the endpoint knows this listener. */
    void listen() {
        id.listen(BACKLOG);
    }

    /** {@return the address and port that peers connect to} */
    public InetSocketAddress address() {
        return address;
    }

    /** Answers a request; on the progress thread. */
    void answer(CmEvent request) {
        CmId peer = request.id();
        RdmaConnection connection = null;
        try {
            ConnectAnswer answer = admission.apply(new ConnectRequest(peer.remoteAddress(), request.privateData()));
            if (!answer.accepted()) {
                refuse(peer, answer.privateData());
                return;
            }
            connection = resources.newConnection(peer, threads, receives, () -> events.forget(peer));
            connection.setPeerData(request.privateData());
            ConnectionState state = connection.state();
            RdmaConnection accepted = connection;
            events.setHandler(peer, event -> finish(accepted, event));
            QueuePair pair = state.pair();
            ReadDepth depth = resources.readDepth().within(request);
            pair.readyToReceive(peer, QueuePairTuning.DEFAULT, Resources.MIN_RNR_TIMER, depth.asTarget());
            pair.readyToSend(peer, QueuePairTuning.DEFAULT, depth.asInitiator());
            preparation.accept(connection);
            peer.accept(resources.parameters(pair, depth, answer.privateData()));
        } catch (IOException | RuntimeException | Error e) {
            refuse(peer, connection, e);
        }
    }

    private static void refuse(CmId peer, byte[] reason) {
        try {
            peer.reject(reason);
        } finally {
            peer.close();
        }
    }

    private static void refuse(CmId peer, @Nullable RdmaConnection connection, Throwable reason) {
        try {
            peer.reject(reason.getClass().getSimpleName().getBytes(StandardCharsets.US_ASCII));
        } catch (RuntimeException e) {
            if (e != reason) {
                reason.addSuppressed(e);
            }
        }
        if (connection == null) {
            peer.close();
        } else {
            connection.fail(reason);
        }
    }

    /** Handles the first event after the answer: ESTABLISHED, or why the connection failed. */
    private void finish(RdmaConnection connection, CmEvent event) {
        if (event.type() != CmEvent.Type.ESTABLISHED) {
            connection.fail(new IOException("peer " + connection.peer() + ": " + event.describe()));
            return;
        }
        events.setHandler(event.id(), connection::handle);
        try {
            acceptor.accept(connection);
        } catch (RuntimeException | Error e) {
            connection.fail(new IOException("the acceptor threw on the connection from " + connection.peer(), e));
        }
    }

    /** Stops listening; idempotent. Connections that were accepted live on. */
    @Override
    public void close() {
        onClose.accept(this);
        id.close();
    }
}
