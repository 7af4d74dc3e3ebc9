// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.LocalRegion;
import io.rdmashuffle.verbs.async.RdmaConnection;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaListener;
import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Two endpoints of the asynchronous API on one device, with a connection between them and memory on both sides.
 *
 * <p><b>Threading:</b> thread-safe. <b>Ownership:</b> owns all of it.
 */
final class Connected implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final RdmaEndpoint client;
    private final RdmaEndpoint server;
    private final RdmaListener listener;
    private final RdmaConnection connection;
    private final RdmaConnection accepted;
    private final LocalRegion local;
    private final LocalRegion remote;

    /**
     * Connects.
     *
     * @param address the device's
     * @param regionBytes memory of each side: depth times bytes of the largest run
     * @param maxDepth of the deepest run
     */
    Connected(InetAddress address, long regionBytes, int maxDepth) throws Exception {
        EndpointOptions options = EndpointOptions.DEFAULT
                .withMaxInFlight(Math.max(maxDepth, EndpointOptions.DEFAULT.maxInFlight()))
                .withOperationTimeout(Duration.ofSeconds(Load.LIMIT_SECONDS));
        client = RdmaEndpoint.open(address, options);
        server = RdmaEndpoint.open(address, options);
        CompletableFuture<RdmaConnection> coming = new CompletableFuture<>();
        listener = server.listen(0, coming::complete);
        connection = client.connect(listener.address(), TIMEOUT).get(Load.LIMIT_SECONDS, TimeUnit.SECONDS);
        accepted = coming.get(Load.LIMIT_SECONDS, TimeUnit.SECONDS);
        local = client.allocate(regionBytes);
        remote = server.allocate(regionBytes);
    }

    /** Returns the side that posts operations. */
    RdmaConnection connection() {
        return connection;
    }

    /** Returns the side that receives messages. */
    RdmaConnection accepted() {
        return accepted;
    }

    LocalRegion local() {
        return local;
    }

    LocalRegion remote() {
        return remote;
    }

    /** Returns how many receives a run posts ahead: every message that is sent finds one. */
    static int receives(int depth) {
        return Math.min(2 * depth, EndpointOptions.DEFAULT.maxReceives());
    }

    @Override
    public void close() {
        connection.close();
        accepted.close();
        listener.close();
        client.close();
        server.close();
    }
}
