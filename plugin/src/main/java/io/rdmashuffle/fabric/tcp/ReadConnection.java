// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.tcp.Frames.Status;
import io.rdmashuffle.fabric.tcp.TcpHandshake.Verdict;
import io.rdmashuffle.memory.Lease;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reading side of one connection to one peer, which is opened by the first read, closed when idle, and opened again
 * after an error.
 *
 * <p>Requests are pipelined. One system call receives the headers and bytes of several responses, the bytes straight
 * into the targets. After an error, reads are sent again over a new connection; a read that was due when two
 * connections failed is given up.
 *
 * <p><b>Threading:</b> on the thread of its loop.
 *
 * <p><b>Ownership:</b> owns its channel.
 */
final class ReadConnection implements SelectorLoop.Handler, PendingRead.Connection {
    private static final Logger LOG = LoggerFactory.getLogger(ReadConnection.class);

    /** Connections that failed while a read was due, after which it is given up. */
    private static final int MAX_LOST_CONNECTIONS = 2;

    /** Headers and bodies received by one system call. */
    private static final int MAX_VECTORS = 32;
    /** System calls before other connections get their turn. */
    private static final int MAX_CALLS = 4;

    /** A request shorter than this waits for the next buffer rather than being split. */
    private static final int MIN_SPLIT_SLICES = 64;

    private enum State {
        CLOSED,
        CONNECTING,
        AWAITING_CHALLENGE,
        AWAITING_ANSWER,
        OPEN
    }

    private final ReadLoop loop;
    private final String peerId;
    private final long ownFabricId;
    private final long peerFabricId;
    private final ConnectAttempts attempts;
    private final @Nullable ReadConnection substitute;
    private final ReadQueue queue = new ReadQueue();
    private final AtomicInteger longReads = new AtomicInteger();
    private final SentRequests sent = new SentRequests();

    private State state = State.CLOSED;
    private @Nullable SocketChannel channel;
    private @Nullable SelectionKey key;
    private ByteBuffer handshake = ByteBuffer.allocate(0);
    private byte[] challenge = {};
    private byte[] hello = {};
    private boolean retired;
    private boolean isTouched;
    private Reason lastReason = Reason.NOT_CONNECTED;
    private String lastFailure = "";
    private long lastUseNanos = System.nanoTime();
    private volatile boolean isReachable = true;

    private @Nullable ByteBuffer out;

    private final @Nullable ByteBuffer[] vectors = new ByteBuffer[MAX_VECTORS];

    /**
     * Prepares a connection.
     *
     * @param hosts addresses of the peer, tried in this order from {@code firstHost} on
     * @param substitute connection of the same loop that takes the reads of this one while it cannot connect; null if
     *     these fail
     */
    ReadConnection(
            ReadLoop loop,
            String peerId,
            long ownFabricId,
            TcpAddress address,
            List<InetAddress> hosts,
            int firstHost,
            @Nullable ReadConnection substitute) {
        this.loop = loop;
        this.peerId = peerId;
        this.ownFabricId = ownFabricId;
        this.peerFabricId = address.fabricId();
        this.substitute = substitute;
        this.attempts = new ConnectAttempts(
                hosts, address.port(), firstHost, loop.settings().connectTimeout(), System.nanoTime());
    }

    ReadLoop loop() {
        return loop;
    }

    /** Returns false if the last attempt to connect failed; for any thread. */
    boolean isReachable() {
        return isReachable;
    }

    /** Passes a request to the loop; for any thread. */
    void submit(ReadRequest request) {
        if (!InFlightReads.isShort(request)) {
            longReads.incrementAndGet();
        }
        loop.submit(request, this);
    }

    @Override
    public void ended(ReadRequest request) {
        if (!InFlightReads.isShort(request)) {
            longReads.decrementAndGet();
        }
    }

    /** Returns whether a long read is under way; for any thread. */
    boolean isBusy() {
        return longReads.get() > 0;
    }

    @Override
    public boolean add(PendingRead read) {
        if (retired) {
            loop.fail(read, Reason.CLOSED, closedMessage());
            return false;
        }
        if (state == State.CLOSED && attempts.isPaused(System.nanoTime())) {
            if (substitute == null) {
                loop.fail(read, lastReason, lastFailure);
            } else {
                substitute.take(read);
            }
            return false;
        }
        queue.add(read);
        boolean isFirst = !isTouched;
        isTouched = true;
        return isFirst;
    }

    /** Adds a read of another connection of the same loop, and sends it. */
    private void take(PendingRead read) {
        if (add(read)) {
            send();
        }
    }

    /** {@inheritDoc} Opens the connection if there is none. */
    @Override
    public void send() {
        isTouched = false;
        try {
            if (state == State.CLOSED && queue.first() != null) {
                connect();
            } else if (state == State.OPEN) {
                write();
            }
        } catch (IOException | RuntimeException | Error e) {
            // An Error too: the loop has other connections.
            failed(e);
        }
    }

    private void connect() throws IOException {
        long now = System.nanoTime();
        attempts.begin(now);
        if (substitute != null) {
            attempts.follow(substitute.attempts);
        }
        connectToHost(now);
    }

    private void connectToHost(long now) throws IOException {
        InetSocketAddress host = attempts.tryHost(now);
        SocketChannel opened = SocketChannel.open();
        channel = opened;
        state = State.CONNECTING;
        opened.configureBlocking(false);
        opened.setOption(StandardSocketOptions.TCP_NODELAY, true);
        opened.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        key = loop.selector().register(opened, SelectionKey.OP_CONNECT, this);
        if (opened.connect(host)) {
            connected();
        }
    }

    private void connected() {
        state = State.AWAITING_CHALLENGE;
        handshake = ByteBuffer.allocate(TcpHandshake.CHALLENGE_BYTES);
        interest(SelectionKey.OP_READ);
    }

    private void interest(int operations) {
        SelectionKey current = key;
        if (current != null && current.isValid() && current.interestOps() != operations) {
            current.interestOps(operations);
        }
    }

    @Override
    public void ready(SelectionKey ready) throws IOException {
        SocketChannel current = channel;
        if (current == null || !ready.equals(key)) {
            return;
        }
        switch (state) {
            case CONNECTING -> {
                if (current.finishConnect()) {
                    connected();
                }
            }
            case AWAITING_CHALLENGE, AWAITING_ANSWER -> shakeHands(current);
            case OPEN -> {
                if (ready.isReadable()) {
                    receive(current);
                }
                if (state == State.OPEN) {
                    write();
                }
            }
            default -> LOG.debug("A closed connection is ready");
        }
    }

    private void shakeHands(SocketChannel current) throws IOException {
        if (current.read(handshake) < 0) {
            throw new EOFException("the peer closed the connection during the handshake");
        }
        if (handshake.hasRemaining()) {
            return;
        }
        if (state == State.AWAITING_CHALLENGE) {
            challenge = handshake.array();
            if (!TcpHandshake.isChallenge(challenge)) {
                refused(Verdict.NOT_A_HELLO);
                return;
            }
            hello = TcpHandshake.hello(
                    ownFabricId, peerFabricId, challenge, loop.settings().secret());
            if (current.write(ByteBuffer.wrap(hello)) < hello.length) {
                throw new IOException("the socket of a new connection does not take " + hello.length + " bytes");
            }
            state = State.AWAITING_ANSWER;
            handshake = ByteBuffer.allocate(TcpHandshake.ANSWER_BYTES);
            return;
        }
        Verdict verdict = TcpHandshake.verdictOf(
                handshake.array(), hello, challenge, loop.settings().secret());
        if (verdict != Verdict.ACCEPTED) {
            refused(verdict);
            return;
        }
        state = State.OPEN;
        attempts.succeeded();
        isReachable = true;
        lastUseNanos = System.nanoTime();
        loop.reads().meter().connectionOpened();
        write();
    }

    private void refused(Verdict verdict) {
        if (attempts.hasUntriedHost()) {
            // A name may have an address that every host has.
            tryNextHost(System.nanoTime());
            return;
        }
        boolean gone = verdict == Verdict.ANOTHER_PROCESS || verdict == Verdict.NOT_A_MEMBER;
        notConnected(
                gone ? Reason.PEER_GONE : Reason.TRANSPORT_ERROR,
                "executor " + peerId + " refuses the connection: " + verdict.meaning(),
                System.nanoTime());
    }

    /** Sends requests until the socket is full, or enough are under way. */
    private void write() throws IOException {
        SocketChannel current = channel;
        if (current == null) {
            return;
        }
        while (true) {
            if (out == null && (queue.unsent() == null || sent.isFull())) {
                interest(SelectionKey.OP_READ);
                return;
            }
            ByteBuffer buffer = out;
            if (buffer == null) {
                buffer = loop.lendBuffer();
                int requests = encode(buffer);
                buffer.flip();
                loop.tally().posted(requests);
                out = buffer;
            }
            int written = current.write(buffer);
            if (buffer.hasRemaining()) {
                if (written == 0) {
                    interest(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
                    return;
                }
                continue;
            }
            out = null;
            loop.returnBuffer(buffer);
        }
    }

    private int encode(ByteBuffer buffer) {
        int requests = 0;
        PendingRead read = queue.unsent();
        while (read != null && !sent.isFull()) {
            int room = (buffer.remaining() - Frames.REQUEST_HEADER_BYTES) / Frames.SLICE_BYTES;
            int count = Math.min(Math.min(room, Frames.MAX_SLICES), read.unsentSlices());
            if (count <= 0 || (count < read.unsentSlices() && count < MIN_SPLIT_SLICES)) {
                break;
            }
            buffer.putInt(sent.nextId()).putInt(count);
            long bytes = read.encode(buffer, count);
            boolean isLast = read.unsentSlices() == 0;
            sent.add(bytes, isLast);
            requests++;
            if (isLast) {
                read = queue.sent(read);
            }
        }
        return requests;
    }

    /** Receives responses, as many as arrive. */
    private void receive(SocketChannel current) throws IOException {
        for (int call = 0; call < MAX_CALLS && channel == current; call++) {
            int count = scatter();
            if (count == 0) {
                expectNothing(current);
                return;
            }
            long wanted = 0;
            for (int i = 0; i < count; i++) {
                ByteBuffer vector = vectors[i];
                wanted += vector == null ? 0 : vector.remaining();
            }
            ByteBuffer only = vectors[0];
            long received = count == 1 && only != null ? current.read(only) : current.read(nonNull(vectors), 0, count);
            if (received < 0) {
                throw new EOFException("the peer closed the connection");
            }
            lastUseNanos = System.nanoTime();
            consume(received);
            if (received < wanted) {
                return;
            }
        }
    }

    @SuppressWarnings("NullAway") // those up to the count are set
    private static ByteBuffer[] nonNull(@Nullable ByteBuffer[] vectors) {
        return vectors;
    }

    /** Nothing is under way, so that all that can come is the end of the connection. */
    private void expectNothing(SocketChannel current) throws IOException {
        int received = current.read(ByteBuffer.allocate(1));
        if (received != 0) {
            throw received < 0
                    ? new EOFException("the peer closed the connection")
                    : new IOException("the peer sends bytes that nothing has requested");
        }
    }

    /** Fills the vectors with the places of the next bytes; returns how many vectors there are. */
    private int scatter() {
        loop.buffers().reset();
        int count = 0;
        PendingRead read = queue.first();
        long offset = read == null ? 0 : read.receivedBytes();
        for (int i = 0; i < sent.count() && count < MAX_VECTORS - 1 && read != null; i++) {
            ByteBuffer header = sent.header(i);
            if (header.hasRemaining()) {
                vectors[count++] = header;
            }
            long bytes = sent.missingBytes(i);
            while (bytes > 0 && count < MAX_VECTORS) {
                Lease target = read.request().target();
                ByteBuffer buffer = loop.buffers().take(target.region(), target.offset() + offset, bytes);
                if (buffer == null) {
                    throw new IllegalStateException("region " + target.region().id() + " of a lease is not mapped");
                }
                vectors[count++] = buffer;
                offset += buffer.remaining();
                bytes -= buffer.remaining();
            }
            if (bytes > 0) {
                break;
            }
            if (sent.isLastOfRead(i)) {
                read = read.next;
                offset = 0;
            }
        }
        return count;
    }

    /** Accounts for bytes that a system call has put where {@link #scatter} had pointed it. */
    private void consume(long bytes) {
        long left = bytes;
        while (!sent.isEmpty()) {
            int headerBytes = sent.countHeaderBytes();
            left -= headerBytes;
            if (sent.header(0).hasRemaining() || (headerBytes > 0 && !checkHeader())) {
                return;
            }
            PendingRead read = queue.first();
            if (read == null) {
                throw new IllegalStateException("a response without a read");
            }
            long body = sent.countBodyBytes(left);
            left -= body;
            read.received(body);
            if (sent.missingBytes(0) > 0) {
                return;
            }
            boolean complete = sent.isLastOfRead(0);
            sent.remove();
            loop.tally().completed(1);
            if (complete) {
                queue.remove(null, read);
                loop.succeed(read);
            }
        }
    }

    /** Checks the header of a response; where it returns false, the connection was closed, perhaps opened again. */
    private boolean checkHeader() {
        if (!sent.isHeaderExpected()) {
            failed(new IOException(sent.mismatch()));
            return false;
        }
        Status status = sent.status();
        if (status == Status.OK) {
            return true;
        }
        PendingRead read = queue.first();
        drop(false);
        if (read != null) {
            queue.remove(null, read);
            loop.fail(read, status.reason(), describe(read, status));
        }
        restart(null, "");
        return false;
    }

    private String describe(PendingRead read, Status status) {
        return "executor " + peerId + " answers " + status + " to a read of "
                + read.request().sources().size() + " slices, the first being "
                + read.request().sources().get(0);
    }

    /** {@inheritDoc} Reads deadlines only while there are reads. */
    @Override
    public boolean tick(long now) {
        if (state == State.CLOSED) {
            return false;
        }
        if (state != State.OPEN && attempts.isOver(now)) {
            notConnected(
                    Reason.NOT_CONNECTED,
                    "no answer from " + attempts.currentHost() + " in "
                            + loop.settings().connectTimeout().toMillis() + " ms",
                    now);
        } else if (state != State.OPEN && attempts.isHostOver(now)) {
            tryNextHost(now);
        } else if (queue.first() != null) {
            failExpired(now);
        } else if (isIdle(now)) {
            drop(false);
        }
        return queue.first() != null;
    }

    private boolean isIdle(long now) {
        long idle = loop.settings().idleTimeout().toNanos();
        return idle > 0 && now - lastUseNanos >= idle;
    }

    /** Fails reads whose deadline has passed. After one that was sent the connection is of no use any more. */
    private void failExpired(long now) {
        for (PendingRead read = queue.first(); read != null; read = read.next) {
            if (read.isSent() && read.isExpired(now)) {
                drop(true);
                break;
            }
        }
        boolean wasSilent = state == State.CLOSED;
        Reason reason = wasSilent || state == State.OPEN ? Reason.TIMED_OUT : Reason.NOT_CONNECTED;
        PendingRead before = null;
        for (PendingRead read = queue.first(); read != null; ) {
            PendingRead next = read.next;
            if (read.isExpired(now)) {
                queue.remove(before, read);
                loop.fail(read, reason, "executor " + peerId + " did not answer before the deadline");
            } else {
                before = read;
            }
            read = next;
        }
        if (wasSilent) {
            restart(null, "");
        }
    }

    @Override
    public void failed(Throwable cause) {
        LOG.debug("Connection to executor {} failed", peerId, cause);
        long now = System.nanoTime();
        if (state == State.OPEN) {
            drop(true);
            restart(Reason.TRANSPORT_ERROR, "the connection to executor " + peerId + " failed: " + cause.getMessage());
        } else if (state != State.CLOSED && attempts.mayTryAgain(state != State.CONNECTING, now)) {
            tryNextHost(now);
        } else {
            notConnected(
                    cause instanceof ConnectException && !attempts.wasSilent(now)
                            ? Reason.PEER_GONE
                            : Reason.NOT_CONNECTED,
                    "cannot connect to " + attempts.currentHost() + ": " + cause.getMessage(),
                    now);
        }
    }

    private void tryNextHost(long now) {
        drop(false);
        attempts.nextHost();
        try {
            connectToHost(now);
        } catch (IOException | RuntimeException | Error e) {
            failed(e);
        }
    }

    /**
     * Fails all reads, and those of the next moments without another attempt to connect; or has them sent over the
     * substitute, which the peer may have room for while it has none for another connection.
     */
    private void notConnected(Reason reason, String message, long now) {
        drop(false);
        attempts.failed(now);
        if (substitute != null) {
            LOG.debug("Lookups at executor {} take turns with blocks: {}", peerId, message);
            for (PendingRead read = queue.takeAll(); read != null; ) {
                PendingRead next = read.next;
                read.rewind();
                substitute.take(read);
                read = next;
            }
            return;
        }
        isReachable = false;
        if (reason == Reason.NOT_CONNECTED) {
            loop.warnOfUnreachable(peerId, message);
        }
        lastReason = reason;
        lastFailure = message;
        failAll(reason, message);
    }

    /** Closes the channel; its reads are kept. */
    private void drop(boolean lost) {
        SocketChannel current = channel;
        channel = null;
        key = null;
        if (current != null) {
            try {
                current.close();
            } catch (IOException e) {
                LOG.debug("Cannot close a connection to executor {}", peerId, e);
            }
        }
        if (state == State.OPEN) {
            loop.reads().meter().connectionClosed();
            if (lost) {
                loop.reads().meter().connectionLost();
            }
        }
        state = State.CLOSED;
        ByteBuffer buffer = out;
        if (buffer != null) {
            out = null;
            loop.returnBuffer(buffer);
        }
        sent.clear();
    }

    /**
     * Sends the reads again over a new connection.
     *
     * @param reason of the end of the connection, counted as a failed attempt of the read whose response was due; null
     *     if none is to blame
     */
    private void restart(@Nullable Reason reason, String message) {
        PendingRead read = queue.takeAll();
        if (read != null && reason != null && read.isSent() && read.countLostConnection() == MAX_LOST_CONNECTIONS) {
            PendingRead next = read.next;
            loop.fail(read, reason, message);
            read = next;
        }
        while (read != null) {
            PendingRead next = read.next;
            if (read.isSent()) {
                loop.reads().meter().retried();
            }
            read.rewind();
            queue.add(read);
            read = next;
        }
        send();
    }

    private void failAll(Reason reason, String message) {
        for (PendingRead read = queue.takeAll(); read != null; ) {
            PendingRead next = read.next;
            loop.fail(read, reason, message);
            read = next;
        }
    }

    /** Closes for good: reads that come later fail. */
    void retire() {
        retired = true;
        drop(false);
        failAll(Reason.CLOSED, closedMessage());
    }

    @Override
    public void close() {
        retire();
    }

    private String closedMessage() {
        return "the connection to executor " + peerId + " is closed";
    }
}
