// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Admissions;
import io.rdmashuffle.fabric.LogLimit;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpHandshake.Verdict;
import io.rdmashuffle.fabric.tcp.TcpSettings.Ports;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listening socket of a process: accepts connections and hands them to the serving threads in turn.
 *
 * <p>Of connections that have not proven themselves, at most {@value #MAX_HANDSHAKES} are open. When there are as
 * many, one that is older than half a second makes room for the next; if all are younger, the next waits in the
 * kernel's queue.
 *
 * <p><b>Threading:</b> accepts on the thread of the first loop; {@link #judge}, {@link #refused} and {@link #closed}
 * may be called by any loop's.
 *
 * <p><b>Ownership:</b> owns the listening socket.
 */
final class TcpListener implements SelectorLoop.Handler, ServedConnection.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(TcpListener.class);

    static final int MAX_HANDSHAKES = 256;

    /** Connections of a thousand peers with sixteen threads each, and one for lookups. */
    private static final int MAX_CONNECTIONS = 17_408;

    private static final int BACKLOG = 1024;
    private static final long YOUNG_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final Map<Long, ServedPool> pools;
    private final TcpSettings settings;
    private final List<ServeLoop> loops;
    private final Admissions admissions;
    private final ServerSocketChannel server;
    private final ArrayDeque<ServedConnection> handshakes = new ArrayDeque<>();
    private final AtomicInteger connections = new AtomicInteger();
    /** Guarded by itself. */
    private final LogLimit<Verdict> refusals = new LogLimit<>(System::nanoTime);

    private final LogLimit<String> acceptErrors = new LogLimit<>(System::nanoTime);

    private @Nullable SelectionKey key;
    private int turn;

    /**
     * Listens on the first port that is free.
     *
     * @param pools that are served, by fabric id; may change
     * @param host to listen at; where it is none of this host, all addresses are listened on
     * @throws IOException if no port is free
     */
    TcpListener(
            Map<Long, ServedPool> pools,
            String host,
            TcpSettings settings,
            List<ServeLoop> loops,
            Admissions admissions)
            throws IOException {
        this.pools = pools;
        this.settings = settings;
        this.loops = loops;
        this.admissions = admissions;
        this.server = listen(InetAddress.getByName(host), settings.ports());
        try {
            server.configureBlocking(false);
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
        boolean unused = loops.get(0).selector().execute(this::open);
    }

    private static ServerSocketChannel listen(InetAddress preferred, Ports ports) throws IOException {
        InetAddress address = isLocal(preferred) ? preferred : null;
        for (int attempt = 0; ; attempt++) {
            int port = ports.ofAttempt(attempt);
            SocketAddress local = address == null ? new InetSocketAddress(port) : new InetSocketAddress(address, port);
            // A new socket for each port: where bind(2) succeeds and listen(2) fails, the old one stays bound.
            ServerSocketChannel opened = ServerSocketChannel.open();
            try {
                return opened.bind(local, BACKLOG);
            } catch (BindException e) {
                opened.close();
                if (attempt >= ports.retries()) {
                    throw e;
                }
                LOG.debug("Port {} is taken", port, e);
            } catch (IOException | RuntimeException e) {
                opened.close();
                throw e;
            }
        }
    }

    private static boolean isLocal(InetAddress address) throws IOException {
        return address.isAnyLocalAddress()
                || address.isLoopbackAddress()
                || NetworkInterface.getByInetAddress(address) != null;
    }

    /** Returns the port that is listened on. */
    int port() throws IOException {
        return ((InetSocketAddress) server.getLocalAddress()).getPort();
    }

    private void open() {
        try {
            key = loops.get(0).selector().register(server, SelectionKey.OP_ACCEPT, this);
        } catch (IOException e) {
            failed(e);
        }
    }

    @Override
    public void ready(SelectionKey ready) throws IOException {
        while (mayAccept()) {
            SocketChannel accepted = accept();
            if (accepted == null) {
                return;
            }
            serve(accepted);
        }
        ready.interestOps(0);
    }

    private void serve(SocketChannel accepted) throws IOException {
        ServeLoop loop = loops.get(Math.floorMod(turn++, loops.size()));
        boolean served = false;
        try {
            ServedConnection connection = new ServedConnection(loop, this, accepted);
            served = true;
            connections.incrementAndGet();
            handshakes.add(connection);
            if (!loop.selector().execute(connection::open)) {
                connection.close();
            }
        } finally {
            if (!served) {
                accepted.close();
            }
        }
    }

    private @Nullable SocketChannel accept() {
        try {
            return server.accept();
        } catch (IOException e) {
            // Out of file descriptors: the kernel keeps the connection, and the next tick tries again.
            pause(e);
            return null;
        }
    }

    private void pause(Throwable cause) {
        if (server.isOpen() && acceptErrors.take("accept") != LogLimit.SILENT) {
            LOG.warn("Cannot accept a connection of a peer; it reads over Spark's block transfer meanwhile", cause);
        }
        SelectionKey current = key;
        if (current != null && current.isValid()) {
            current.interestOps(0);
        }
    }

    private boolean mayAccept() {
        handshakes.removeIf(ServedConnection::isProven);
        ServedConnection oldest = handshakes.peek();
        if (oldest != null
                && handshakes.size() >= MAX_HANDSHAKES
                && System.nanoTime() - oldest.acceptedNanos() >= YOUNG_NANOS) {
            handshakes.remove();
            oldest.expel();
        }
        return handshakes.size() < MAX_HANDSHAKES && connections.get() < MAX_CONNECTIONS;
    }

    @Override
    public Verdict judge(byte[] hello, byte[] challenge, boolean isServed) {
        boolean isMember = !admissions.isRevoked(TcpHandshake.readerOf(hello));
        return TcpHandshake.judge(hello, challenge, isServed, isMember, settings.secret());
    }

    @Override
    public @Nullable ServedPool poolOf(byte[] hello) {
        return pools.get(TcpHandshake.ownerOf(hello));
    }

    @Override
    public Secret secret() {
        return settings.secret();
    }

    /** {@inheritDoc} Logs at most one a minute for each reason. */
    @Override
    public void refused(SocketChannel channel, Verdict verdict) {
        int others;
        synchronized (refusals) {
            others = refusals.take(verdict);
        }
        if (others != LogLimit.SILENT) {
            LOG.warn(
                    "Refused a TCP connection from {}: {} ({} similar refusals before)",
                    channel.socket().getRemoteSocketAddress(),
                    verdict.meaningForOwner(),
                    others);
        }
    }

    /** {@inheritDoc} It is longer than a reader's. */
    @Override
    public long idleNanos() {
        return settings.idleTimeout().isZero()
                ? Long.MAX_VALUE
                : 2 * settings.idleTimeout().toNanos();
    }

    @Override
    public long stalledNanos() {
        return settings.readTimeout().toNanos();
    }

    @Override
    public void closed() {
        connections.decrementAndGet();
    }

    @Override
    public boolean tick(long now) {
        SelectionKey current = key;
        if (current != null && current.isValid() && current.interestOps() == 0 && mayAccept()) {
            current.interestOps(SelectionKey.OP_ACCEPT);
        }
        return current != null && current.isValid() && current.interestOps() == 0;
    }

    @Override
    public void failed(Throwable cause) {
        pause(cause);
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            LOG.debug("Cannot close the listening socket", e);
        }
    }
}
