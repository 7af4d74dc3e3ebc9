// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Process that is read from over one connection for each reading thread; requests take turns. Short ones take another
 * connection while long ones are under way: lookups would otherwise wait until all blocks before them have arrived.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns its connections, which their threads close.
 */
final class TcpPeer implements Peer, InFlightReads.Starter {
    private final String peerId;
    private final InFlightReads reads;
    private final List<ReadConnection> connections = new ArrayList<>();
    private final ReadConnection lookups;
    private final AtomicInteger turn = new AtomicInteger();
    private volatile boolean closed;

    /**
     * Prepares the connections.
     *
     * @param hosts of the peer, at least one; the connections begin with different ones
     */
    TcpPeer(
            String peerId,
            long ownFabricId,
            TcpAddress address,
            List<InetAddress> hosts,
            List<ReadLoop> loops,
            InFlightReads reads) {
        this.peerId = peerId;
        this.reads = reads;
        for (ReadLoop loop : loops) {
            connections.add(new ReadConnection(loop, peerId, ownFabricId, address, hosts, connections.size(), null));
        }
        this.lookups = new ReadConnection(loops.get(0), peerId, ownFabricId, address, hosts, 0, connections.get(0));
    }

    @Override
    public boolean read(ReadRequest request) {
        return reads.admit(request, this);
    }

    @Override
    public void start(ReadRequest request) {
        if (closed) {
            reads.fail(request, Reason.CLOSED, "the connection to executor " + peerId + " is closed");
        } else if (request.isExpired()) {
            reads.fail(request, Reason.TIMED_OUT, "deadline passed before the read");
        } else {
            ReadConnection next = next();
            boolean overtakes = InFlightReads.isShort(request) && next.isBusy();
            (overtakes ? lookups : next).submit(request);
        }
    }

    private ReadConnection next() {
        return connections.get(connections.size() == 1 ? 0 : Math.floorMod(turn.getAndIncrement(), connections.size()));
    }

    /** {@inheritDoc} The peer sends them from its files. */
    @Override
    public boolean readsDisk() {
        return true;
    }

    @Override
    public boolean isReachable() {
        return connections.stream().anyMatch(ReadConnection::isReachable);
    }

    /** Does nothing: the peer looks up its regions for each read. */
    @Override
    public void releaseRegions() {}

    @Override
    public void releaseAbsentRegions() {}

    @Override
    public int openRegions() {
        return 0;
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        connections.forEach(TcpPeer::retire);
        retire(lookups);
    }

    private static void retire(ReadConnection connection) {
        // A loop that has ended has closed its connections.
        boolean unused = connection.loop().selector().execute(connection::retire);
    }
}
