// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.PairAddress;
import io.rdmashuffle.verbs.PairAttributes;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * A link between queue pairs that told each other their addresses over a socket, as those of ibv_rc_pingpong do. The
 * socket is closed then, so that a peer that goes away is only noticed by its silence.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns its side; the socket is the caller's.
 *
 * <p><b>Source:</b> pp_client_exch_dest and pp_server_exch_dest of libibverbs/examples/rc_pingpong.c.
 */
final class DirectLink implements Link {
    private final Side side;
    private final PairAttributes own;
    private final String peer;

    private DirectLink(Side side, PairAttributes own, String peer) {
        this.side = side;
        this.own = own;
        this.peer = peer;
    }

    /**
     * Connects to a server.
     *
     * @param timeout of each step
     * @param prepare is given this side before the peer can send
     */
    static DirectLink connect(
            VerbsLibrary library,
            InetSocketAddress server,
            PortChoice choice,
            Duration timeout,
            Side.Needs needs,
            Consumer<Side> prepare)
            throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(server, (int) timeout.toMillis());
            Context context = choice.open(library, socket.getLocalAddress());
            return over(socket, false, context, choice, timeout, needs, prepare);
        } catch (ConnectException | SocketTimeoutException e) {
            throw new IOException("connect to " + HostPort.text(server) + ": " + e.getMessage(), e);
        }
    }

    /**
     * Connects a queue pair with the one at the other end of a socket.
     *
     * @param socket connected
     * @param server whether the other end is the client, which speaks first
     * @param context taken over
     * @param timeout most time until the peer says something
     * @param prepare is given this side before the peer can send
     */
    static DirectLink over(
            Socket socket,
            boolean server,
            Context context,
            PortChoice choice,
            Duration timeout,
            Side.Needs needs,
            Consumer<Side> prepare)
            throws IOException {
        Side side = Side.create(context, needs);
        boolean made = false;
        try {
            if (context.transport() == Transport.IWARP) {
                throw new IOException(
                        "iWARP device " + context.deviceName() + " connects by librdmacm only: use --connect cm");
            }
            socket.setSoTimeout((int) timeout.toMillis());
            PairAttributes own = choice.attributes(context, socket.getLocalAddress());
            side.pair().initialize(own, needs.remoteRights());
            prepare.accept(side);
            exchange(socket, server, side, own);
            made = true;
            return new DirectLink(side, own, HostPort.text((InetSocketAddress) socket.getRemoteSocketAddress()));
        } finally {
            if (!made) {
                side.close();
            }
        }
    }

    private static void exchange(Socket socket, boolean server, Side side, PairAttributes own) throws IOException {
        OutputStream out = socket.getOutputStream();
        byte[] address = WireAddress.encode(side.pair().address(own));
        if (server) {
            ready(side, own, WireAddress.decode(read(socket, WireAddress.BYTES), own.mtuBytes()));
            out.write(address);
            if (!Arrays.equals(read(socket, WireAddress.DONE.length), WireAddress.DONE)) {
                throw new IOException("the peer did not say that it is done with the addresses");
            }
        } else {
            out.write(address);
            byte[] answer = read(socket, WireAddress.BYTES);
            out.write(WireAddress.DONE);
            ready(side, own, WireAddress.decode(answer, own.mtuBytes()));
        }
    }

    private static void ready(Side side, PairAttributes own, PairAddress peer) {
        side.pair().readyToReceive(own, peer);
        side.pair().readyToSend(own, peer);
    }

    private static byte[] read(Socket socket, int bytes) throws IOException {
        byte[] read = socket.getInputStream().readNBytes(bytes);
        if (read.length < bytes) {
            throw new IOException("the peer at " + socket.getRemoteSocketAddress() + " closed its socket after "
                    + read.length + " of " + bytes + " bytes");
        }
        return read;
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
        return "by numbers on " + side.context().deviceName() + " port " + own.port() + ", GID "
                + (own.gid() == null
                        ? "none"
                        : own.gid().index() + " " + own.gid().address().getHostAddress())
                + ", MTU " + own.mtuBytes();
    }

    @Override
    public void requirePeer() {
        // nothing tells: the socket is closed after the exchange, as ibv_rc_pingpong does
    }

    @Override
    public void close() {
        side.close();
    }
}
