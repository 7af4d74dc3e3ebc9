// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueuePairTuning;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The client side of a connection that is being made: address, route, request, response.
 *
 * <p><b>Threading:</b> the first progress thread.
 *
 * <p><b>Ownership:</b> owns the id until there is a connection, which then owns it.
 */
final class Connecting implements Timed {
    private final Resources resources;
    private final ProgressThreads threads;
    private final Progress progress;
    private final ConnectionEvents events;
    private final CmId id;
    private final InetSocketAddress remote;
    private final Duration timeout;
    private final byte[] privateData;
    private final @Nullable ReceiveSource receives;
    private final long deadline;
    private final CompletableFuture<RdmaConnection> future;
    private @Nullable RdmaConnection connection;

    private Connecting(
            Resources resources,
            ProgressThreads threads,
            ConnectionEvents events,
            CmId id,
            InetSocketAddress remote,
            Duration timeout,
            byte[] privateData,
            @Nullable ReceiveSource receives,
            CompletableFuture<RdmaConnection> future) {
        this.resources = resources;
        this.threads = threads;
        this.progress = threads.first();
        this.events = events;
        this.id = id;
        this.remote = remote;
        this.timeout = timeout;
        this.privateData = privateData;
        this.receives = receives;
        this.future = future;
        this.deadline = ConnectionState.after(progress.now(), timeout.toNanos());
    }

    /** Begins; on the progress thread. */
    static void start(
            Resources resources,
            ProgressThreads threads,
            ConnectionEvents events,
            InetSocketAddress remote,
            Duration timeout,
            byte[] privateData,
            @Nullable ReceiveSource receives,
            CompletableFuture<RdmaConnection> future) {
        CmId id = resources.events().createId();
        Connecting connecting =
                new Connecting(resources, threads, events, id, remote, timeout, privateData, receives, future);
        events.setHandler(id, connecting::step);
        threads.first().add(connecting);
        try {
            id.resolveAddress(null, remote, timeout);
        } catch (RuntimeException e) {
            connecting.fail(e);
        }
    }

    private void step(CmEvent event) {
        try {
            switch (event.type()) {
                case ADDRESS_RESOLVED -> id.resolveRoute(timeout);
                case ROUTE_RESOLVED -> request();
                // On iWARP the connection is established with the peer's answer.
                case CONNECT_RESPONSE, ESTABLISHED -> establish(event);
                case REJECTED -> fail(new RdmaRefusedException(remote, event));
                default -> fail(new IOException("connect to " + remote + ": " + event.describe()));
            }
        } catch (IOException | RuntimeException e) {
            fail(e);
        }
    }

    private void request() throws IOException {
        connection = resources.newConnection(id, threads, receives, () -> events.forget(id));
        try {
            id.connect(resources.parameters(connection.state().pair(), resources.readDepth(), privateData));
        } catch (NativeException e) {
            // On iWARP the call connects by TCP.
            if (Errno.ECONNREFUSED.is(e.errno())) {
                throw new RdmaRefusedException(remote, e);
            }
            throw new IOException("connect to " + remote + ": " + e.getMessage(), e);
        }
    }

    private void establish(CmEvent response) {
        RdmaConnection made = connection;
        if (made == null) {
            throw new IllegalStateException(response.type() + " before the queue pair was created");
        }
        QueuePair pair = made.state().pair();
        ReadDepth depth = resources.readDepth().within(response);
        pair.readyToReceive(id, QueuePairTuning.DEFAULT, Resources.MIN_RNR_TIMER, depth.asTarget());
        pair.readyToSend(id, QueuePairTuning.DEFAULT, depth.asInitiator());
        id.establish();
        made.setPeerData(response.privateData());
        events.setHandler(id, made::handle);
        progress.forget(this);
        if (!future.complete(made)) {
            made.fail(new IOException("connect to " + remote
                    + ": the caller cancelled its future before the connection was established"));
        }
    }

    @Override
    public long tick(long now) {
        if (now >= deadline) {
            fail(new IOException("connect to " + remote + ": timed out after " + timeout.toMillis()
                    + " ms; check that the peer listens there and that its port is up (rdma link)"));
        }
        return deadline;
    }

    @Override
    public void fail(Throwable reason) {
        progress.forget(this);
        if (connection != null) {
            connection.fail(reason);
        } else {
            events.forget(id);
            id.close();
        }
        future.completeExceptionally(reason);
    }

    @Override
    public void abort(Throwable reason) {
        fail(reason);
    }
}
