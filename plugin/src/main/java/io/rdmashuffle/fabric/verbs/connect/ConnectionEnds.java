// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Between which addresses a connection is made, and the queue pair of the side that proves something: with them in the
 * proof, it is worth nothing on any other connection.
 *
 * @param client address of the process that connects
 * @param server address of the process that listens
 * @param queuePair number of the queue pair at the side that proves, 0 on iWARP: there it does not travel, and the
 *     connection is a TCP connection between the two
 */
record ConnectionEnds(InetAddress client, InetAddress server, int queuePair) {
    private static final int IPV4_OFFSET = 10;

    /** Returns those of a request or an answer that has come, as its sender has them. */
    static ConnectionEnds of(CmEvent event, boolean asServer) {
        InetAddress here = address(event.id().localAddress());
        InetAddress there = address(event.id().remoteAddress());
        return asServer
                ? new ConnectionEnds(there, here, event.queuePairNumber())
                : new ConnectionEnds(here, there, event.queuePairNumber());
    }

    /** Returns those of a request that this process makes. */
    static ConnectionEnds ofRequest(CmId id, int queuePair) {
        return new ConnectionEnds(address(id.localAddress()), address(id.remoteAddress()), queuePair);
    }

    /** Returns those of the answer to a request that has come. */
    static ConnectionEnds ofAnswer(CmId id, int queuePair) {
        return new ConnectionEnds(address(id.remoteAddress()), address(id.localAddress()), queuePair);
    }

    /** An end without an IP address gets 0.0.0.0, for which no peer has a proof. */
    private static InetAddress address(@Nullable InetSocketAddress of) {
        return (of == null ? new InetSocketAddress(0) : of).getAddress();
    }

    /** Returns 36 bytes: the addresses as IPv6, IPv4 ones mapped, and the number, little-endian. */
    byte[] encoded() {
        ByteBuffer out = ByteBuffer.allocate(36).order(ByteOrder.LITTLE_ENDIAN);
        put(out, client);
        put(out, server);
        return out.putInt(queuePair).array();
    }

    private static void put(ByteBuffer out, InetAddress address) {
        if (address instanceof Inet4Address) {
            out.put(new byte[IPV4_OFFSET]).put((byte) -1).put((byte) -1);
        }
        out.put(address.getAddress());
    }
}
