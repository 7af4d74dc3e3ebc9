// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.verbs.VerbsLibrary;
import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.RdmaConnection;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaRefusedException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Asks a host to connect, over RDMA, at a port where nothing listens: the refusal of its connection manager shows that
 * requests get there and answers back.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Ownership:</b> owns an endpoint while it asks.
 */
final class PeerReach {
    /** Linux sends a lost request again after 4.6 to 6.1 s; this outlasts one. */
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    /** Of no service of RDMA. */
    private static final int PORT = 1;

    private PeerReach() {}

    /** Returns if the peer answers; throws with the reason if not. */
    static void over(VerbsLibrary library, InetAddress local, InetAddress peer) throws IOException {
        try (RdmaEndpoint endpoint = RdmaEndpoint.open(library, local, EndpointOptions.DEFAULT)) {
            RdmaConnection connection = endpoint.connect(new InetSocketAddress(peer, PORT), TIMEOUT)
                    .get(TIMEOUT.toSeconds() + 1, TimeUnit.SECONDS);
            connection.close();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof RdmaRefusedException)) {
                Throwable cause = e.getCause();
                throw new IOException(String.valueOf((cause == null ? e : cause).getMessage()), e);
            }
        } catch (TimeoutException e) {
            throw new IOException("no answer within " + TIMEOUT.toSeconds() + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }
}
