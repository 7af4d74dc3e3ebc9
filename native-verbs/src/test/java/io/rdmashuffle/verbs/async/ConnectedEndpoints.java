// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.RdmaTestDevice;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Two endpoints on one device and connections between them, for tests. */
final class ConnectedEndpoints implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    final RdmaTestDevice device = RdmaTestDevice.require();
    final boolean iwarp = device.iwarp();
    final RdmaEndpoint client;
    final RdmaEndpoint server;
    private final BlockingQueue<RdmaConnection> accepted = new LinkedBlockingQueue<>();
    private final RdmaListener listener;

    /** Both ends of one connection. */
    record Pair(RdmaConnection client, RdmaConnection server) {}

    ConnectedEndpoints(EndpointOptions options) throws Exception {
        client = RdmaEndpoint.open(device.address(), options);
        server = RdmaEndpoint.open(device.address(), options);
        listener = server.listen(0, accepted::add);
    }

    Pair connect() throws Exception {
        RdmaConnection connection = get(client.connect(listener.address(), TIMEOUT));
        RdmaConnection other = accepted.poll(30, TimeUnit.SECONDS);
        if (other == null) {
            throw new AssertionError("the server did not accept within 30 s");
        }
        return new Pair(connection, other);
    }

    /**
     * Waits until written bytes have arrived: on iWARP a WRITE completes when TCP has it, but a later READ sees its
     * bytes.
     */
    static void awaitArrival(RdmaConnection connection, LocalRegion local, RemoteRegion remote) throws Exception {
        if (RdmaTestDevice.require().iwarp()) {
            get(connection.read(local.slice(0, 1), remote.slice(0, 1)));
        }
    }

    /** Returns how a READ ends that the peer's device refuses: on iWARP with the connection, which flushes it. */
    CompletionStatus refused() {
        return iwarp ? CompletionStatus.WORK_REQUEST_FLUSHED : CompletionStatus.REMOTE_ACCESS_ERROR;
    }

    static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    @Override
    public void close() {
        client.close();
        server.close();
    }
}
