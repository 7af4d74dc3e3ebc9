// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.Comparator;
import java.util.Set;

/**
 * Two queue pairs on one device in one process, connected without the connection manager, each with its own completion
 * queue; addresses are exchanged as bytes.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing it closes everything.
 */
final class DirectPairs implements AutoCloseable {
    final Context context;
    final ProtectionDomain domain;
    final CompletionQueue clientQueue;
    final CompletionQueue serverQueue;
    final QueuePair client;
    final QueuePair server;
    final PairAttributes attributes;

    DirectPairs(RdmaTestDevice device) {
        device.assumeInfiniBand("queue pairs that connect without rdma_cm");
        context = device.open();
        domain = context.allocateProtectionDomain();
        clientQueue = context.createCompletionQueue(64, null);
        serverQueue = context.createCompletionQueue(64, null);
        client = domain.createQueuePair(Loopback.SIZES, clientQueue, clientQueue, null);
        server = domain.createQueuePair(Loopback.SIZES, serverQueue, serverQueue, null);
        attributes = attributes(context, device);
    }

    /** Returns the attributes of the port with the device's address, over RoCE v2 if there is a choice. */
    static PairAttributes attributes(Context context, RdmaTestDevice device) {
        GidEntry gid = context.gids().stream()
                .filter(each -> each.address().equals(device.address()))
                .max(Comparator.comparing(GidEntry::type))
                .orElseThrow();
        return PairAttributes.on(context.port(gid.port()), gid);
    }

    void connect(PairAttributes ofClient, PairAttributes ofServer, Set<Access> serverRights) {
        byte[] toServer = client.address(ofClient).encode();
        byte[] toClient = server.address(ofServer).encode();
        client.initialize(ofClient, Loopback.REMOTE);
        server.initialize(ofServer, serverRights);
        server.readyToReceive(ofServer, PairAddress.decode(toServer));
        server.readyToSend(ofServer, PairAddress.decode(toServer));
        client.readyToReceive(ofClient, PairAddress.decode(toClient));
        client.readyToSend(ofClient, PairAddress.decode(toClient));
    }

    @Override
    public void close() {
        context.close();
    }
}
