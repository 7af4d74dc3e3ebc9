// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
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
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads from one peer over one connection, which is opened by the first read, closed when idle, and opened again after
 * an error.
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

    /** Requests without a complete response. 128 of 64 KiB cover 40 Gb/s x 1.6 ms. */
    private static final int MAX_FRAMES = 128;

    private static final int MAX_ATTEMPTS = 2;
    private static final int MIN_HANDSHAKES = 3;
    /** Responses received by one system call. */
    private static final int MAX_VECTORS = 32;
    /** System calls before other connections get their turn. */
    private static final int MAX_CALLS = 4;

    /** A request shorter than this waits for the next buffer rather than being split. */
    private static final int MIN_SPLIT_SLICES = 64;

    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Duration of an attempt from which on it is a peer that does not answer, as behind a firewall. */
    private static final long LONG_ATTEMPT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** To a peer that was never reached, and where each attempt takes long. */
    private static final long LONGEST_FIRST_PAUSE_NANOS = TimeUnit.MINUTES.toNanos(10);
    /** Pause after a long attempt, as a multiple of its duration. */
    private static final long PAUSE_PER_ATTEMPT = 6;

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
    private final TcpAddress address;
    private final List<InetAddress> hosts;

    private State state = State.CLOSED;
    private @Nullable SocketChannel channel;
    private @Nullable SelectionKey key;
    private int host;
    private int hostsTried;
    private long connectDeadlineNanos;
    private long hostDeadlineNanos;
    private ByteBuffer handshake = ByteBuffer.allocate(0);
    private byte[] challenge = {};
    private byte[] hello = {};
    private boolean retired;
    private boolean isTouched;
    private boolean wasOpen;
    private long pauseNanos;
    private long noConnectUntilNanos = System.nanoTime();
    private Reason lastReason = Reason.NOT_CONNECTED;
    private String lastFailure = "";
    private long lastUseNanos = System.nanoTime();

    /** Reads in the order of their requests. */
    private @Nullable PendingRead first;

    private @Nullable PendingRead last;
    /** The first read that has not been sent as a whole. */
    private @Nullable PendingRead unsent;

    private @Nullable ByteBuffer out;

    /** Requests without a complete response: a ring. */
    private final long[] frameBytes = new long[MAX_FRAMES];

    private final boolean[] frameIsLast = new boolean[MAX_FRAMES];
    private @Nullable ByteBuffer @Nullable [] headers;
    private final @Nullable ByteBuffer[] vectors = new ByteBuffer[MAX_VECTORS];
    private int head;
    private int frames;
    private int nextId;
    private int expectedId;
    /** Of the response at the head. */
    private int headerReceived;

    private long bodyReceived;

    /**
     * Prepares a connection.
     *
     * @param hosts addresses of the peer, tried in this order from {@code firstHost} on
     */
    ReadConnection(
            ReadLoop loop,
            String peerId,
            long ownFabricId,
            TcpAddress address,
            List<InetAddress> hosts,
            int firstHost) {
        this.loop = loop;
        this.peerId = peerId;
        this.ownFabricId = ownFabricId;
        this.address = address;
        this.hosts = hosts;
        this.host = firstHost % hosts.size();
    }

    ReadLoop loop() {
        return loop;
    }

    @Override
    public boolean add(PendingRead read) {
        if (retired) {
            loop.fail(read, Reason.CLOSED, closedMessage());
            return false;
        }
        if (state == State.CLOSED && System.nanoTime() - noConnectUntilNanos < 0) {
            loop.fail(read, lastReason, lastFailure);
            return false;
        }
        append(read);
        boolean first = !isTouched;
        isTouched = true;
        return first;
    }

    private void append(PendingRead read) {
        read.next = null;
        if (last == null) {
            first = read;
        } else {
            last.next = read;
        }
        last = read;
        if (unsent == null) {
            unsent = read;
        }
    }

    /** {@inheritDoc} Opens the connection if there is none. */
    @Override
    public void send() {
        isTouched = false;
        try {
            if (state == State.CLOSED && first != null) {
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
        hostsTried = 0;
        connectDeadlineNanos = now + loop.settings().connectTimeout().toNanos();
        connectToHost(now);
    }

    private void connectToHost(long now) throws IOException {
        hostDeadlineNanos = now + loop.settings().connectTimeout().toNanos() / hosts.size();
        hostsTried++;
        SocketChannel opened = SocketChannel.open();
        channel = opened;
        state = State.CONNECTING;
        opened.configureBlocking(false);
        opened.setOption(StandardSocketOptions.TCP_NODELAY, true);
        opened.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
        key = loop.selector().register(opened, SelectionKey.OP_CONNECT, this);
        if (opened.connect(new InetSocketAddress(hosts.get(host), address.port()))) {
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
                    ownFabricId, address.fabricId(), challenge, loop.settings().secret());
            ByteBuffer sent = ByteBuffer.wrap(hello);
            if (current.write(sent) < hello.length) {
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
        wasOpen = true;
        pauseNanos = 0;
        lastUseNanos = System.nanoTime();
        loop.reads().meter().connectionOpened();
        write();
    }

    private void refused(Verdict verdict) {
        if (hostsTried < hosts.size()) {
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

    /** Sends requests until the socket is full, or {@value #MAX_FRAMES} are under way. */
    private void write() throws IOException {
        SocketChannel current = channel;
        if (current == null) {
            return;
        }
        while (true) {
            if (out == null && (unsent == null || frames == MAX_FRAMES)) {
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
        PendingRead read = unsent;
        while (read != null && frames < MAX_FRAMES) {
            int room = (buffer.remaining() - Frames.REQUEST_HEADER_BYTES) / Frames.SLICE_BYTES;
            int count = Math.min(Math.min(room, Frames.MAX_SLICES), read.unsentSlices());
            if (count <= 0 || (count < read.unsentSlices() && count < MIN_SPLIT_SLICES)) {
                break;
            }
            buffer.putInt(nextId++).putInt(count);
            int frame = (head + frames) % MAX_FRAMES;
            frameBytes[frame] = read.encode(buffer, count);
            frameIsLast[frame] = read.unsentSlices() == 0;
            frames++;
            requests++;
            if (frameIsLast[frame]) {
                read = read.next;
                unsent = read;
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
        PendingRead read = first;
        long offset = read == null ? 0 : read.receivedBytes();
        for (int i = 0; i < frames && count < MAX_VECTORS - 1 && read != null; i++) {
            int frame = (head + i) % MAX_FRAMES;
            ByteBuffer header = header(frame);
            if (header.hasRemaining()) {
                vectors[count++] = header;
            }
            long bytes = frameBytes[frame] - (i == 0 ? bodyReceived : 0);
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
            if (frameIsLast[frame]) {
                read = read.next;
                offset = 0;
            }
        }
        return count;
    }

    private ByteBuffer header(int frame) {
        @Nullable ByteBuffer[] all = headers;
        if (all == null) {
            all = new ByteBuffer[MAX_FRAMES];
            ByteBuffer memory = ByteBuffer.allocateDirect(MAX_FRAMES * Frames.RESPONSE_HEADER_BYTES);
            for (int i = 0; i < MAX_FRAMES; i++) {
                all[i] = memory.slice(i * Frames.RESPONSE_HEADER_BYTES, Frames.RESPONSE_HEADER_BYTES)
                        .order(ByteOrder.LITTLE_ENDIAN);
            }
            headers = all;
        }
        ByteBuffer header = all[frame];
        if (header == null) {
            throw new IllegalStateException("no header");
        }
        return header;
    }

    /** Accounts for bytes that a system call has put where {@link #scatter} had pointed it. */
    private void consume(long bytes) {
        long left = bytes;
        while (frames > 0) {
            ByteBuffer header = header(head);
            int received = header.position() - headerReceived;
            headerReceived += received;
            left -= received;
            if (header.hasRemaining() || (received > 0 && !check(header))) {
                return;
            }
            PendingRead read = first;
            if (read == null) {
                throw new IllegalStateException("a response without a read");
            }
            long body = Math.min(left, frameBytes[head] - bodyReceived);
            left -= body;
            bodyReceived += body;
            read.received(body);
            if (bodyReceived < frameBytes[head]) {
                return;
            }
            boolean complete = frameIsLast[head];
            popFrame(header);
            loop.tally().completed(1);
            if (complete) {
                first = read.next;
                if (first == null) {
                    last = null;
                }
                loop.succeed(read);
            }
        }
    }

    private void popFrame(ByteBuffer header) {
        header.clear();
        headerReceived = 0;
        bodyReceived = 0;
        head = (head + 1) % MAX_FRAMES;
        frames--;
        expectedId++;
    }

    /** Checks the header of a response; after an error status this connection has ended when it returns false. */
    private boolean check(ByteBuffer header) {
        int id = header.getInt(0);
        Status status = Status.of(header.getInt(4));
        long length = header.getLong(8);
        if (id != expectedId || (status == Status.OK && length != frameBytes[head])) {
            failed(new IOException("response " + id + " of " + length + " bytes instead of " + expectedId + " of "
                    + frameBytes[head]));
            return false;
        }
        if (status == Status.OK) {
            return true;
        }
        PendingRead read = first;
        drop(false);
        if (read != null) {
            first = read.next;
            if (first == null) {
                last = null;
            }
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
        if (state != State.OPEN && now - connectDeadlineNanos >= 0) {
            notConnected(
                    Reason.NOT_CONNECTED,
                    "no answer from " + hosts.get(host) + ":" + address.port() + " in "
                            + loop.settings().connectTimeout().toMillis() + " ms",
                    now);
        } else if (state == State.CONNECTING && now - hostDeadlineNanos >= 0 && hostsTried < hosts.size()) {
            tryNextHost(now);
        } else if (first != null) {
            failExpired(now);
        } else if (isIdle(now)) {
            drop(false);
        }
        return first != null;
    }

    private boolean isIdle(long now) {
        long idle = loop.settings().idleTimeout().toNanos();
        return idle > 0 && now - lastUseNanos >= idle;
    }

    /** Fails reads whose deadline has passed. After one that was sent the connection is of no use any more. */
    private void failExpired(long now) {
        for (PendingRead read = first; read != null; read = read.next) {
            if (read.isSent() && read.isExpired(now)) {
                drop(true);
                break;
            }
        }
        boolean wasSilent = state == State.CLOSED;
        Reason reason = wasSilent || state == State.OPEN ? Reason.TIMED_OUT : Reason.NOT_CONNECTED;
        PendingRead before = null;
        for (PendingRead read = first; read != null; ) {
            PendingRead next = read.next;
            if (read.isExpired(now)) {
                unlink(before, read);
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

    private void unlink(@Nullable PendingRead before, PendingRead read) {
        if (before == null) {
            first = read.next;
        } else {
            before.next = read.next;
        }
        if (last == read) {
            last = before;
        }
        if (unsent == read) {
            unsent = read.next;
        }
    }

    @Override
    public void failed(Throwable cause) {
        LOG.debug("Connection to executor {} failed", peerId, cause);
        long now = System.nanoTime();
        if (state == State.OPEN) {
            drop(true);
            restart(Reason.TRANSPORT_ERROR, "the connection to executor " + peerId + " failed: " + cause.getMessage());
        } else if (state != State.CLOSED && hostsTried < triesOf(state) && now - connectDeadlineNanos < 0) {
            tryNextHost(now);
        } else {
            notConnected(
                    cause instanceof ConnectException ? Reason.PEER_GONE : Reason.NOT_CONNECTED,
                    "cannot connect to " + hosts.get(host) + ":" + address.port() + ": " + cause.getMessage(),
                    now);
        }
    }

    /** An owner that is overloaded closes connections whose handshake takes long, so a host is tried again then. */
    private int triesOf(State failed) {
        return failed == State.CONNECTING ? hosts.size() : Math.max(MIN_HANDSHAKES, hosts.size());
    }

    private void tryNextHost(long now) {
        drop(false);
        host = (host + 1) % hosts.size();
        try {
            connectToHost(now);
        } catch (IOException | RuntimeException | Error e) {
            failed(e);
        }
    }

    /** Fails all reads, and those of the next moments without another attempt to connect. */
    private void notConnected(Reason reason, String message, long now) {
        drop(false);
        host = (host + 1) % hosts.size();
        long longer = Math.max(FIRST_PAUSE_NANOS, 2 * pauseNanos);
        long attempt =
                now - connectDeadlineNanos + loop.settings().connectTimeout().toNanos();
        if (wasOpen || attempt < LONG_ATTEMPT_NANOS) {
            pauseNanos = Math.min(LONGEST_PAUSE_NANOS, longer);
        } else {
            pauseNanos = Math.min(LONGEST_FIRST_PAUSE_NANOS, Math.max(longer, PAUSE_PER_ATTEMPT * attempt));
        }
        noConnectUntilNanos = now + pauseNanos;
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
        @Nullable ByteBuffer[] all = headers;
        if (all != null) {
            Arrays.stream(all).filter(Objects::nonNull).forEach(ByteBuffer::clear);
        }
        frames = 0;
        head = 0;
        headerReceived = 0;
        bodyReceived = 0;
        nextId = 0;
        expectedId = 0;
    }

    /**
     * Sends the reads again over a new connection.
     *
     * @param reason of the end of the connection, counted as a failed attempt of the read whose response was due; null
     *     if none is to blame
     */
    private void restart(@Nullable Reason reason, String message) {
        PendingRead read = takeAll();
        if (read != null && reason != null && read.isSent() && read.countAttempt() == MAX_ATTEMPTS) {
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
            append(read);
            read = next;
        }
        send();
    }

    private void failAll(Reason reason, String message) {
        for (PendingRead read = takeAll(); read != null; ) {
            PendingRead next = read.next;
            loop.fail(read, reason, message);
            read = next;
        }
    }

    private @Nullable PendingRead takeAll() {
        PendingRead read = first;
        first = null;
        last = null;
        unsent = null;
        return read;
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
