// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.Frames.Status;
import io.rdmashuffle.fabric.tcp.TcpHandshake.Verdict;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Connection of one peer that reads from this process.
 *
 * <p>Requests stay in the buffer that they arrive in until they are answered, and the only other state is a position
 * within the answer: a peer that does not receive costs one buffer, and nothing more is received from it meanwhile. An
 * idle connection has no buffer.
 *
 * <p><b>Threading:</b> on the thread of its loop; {@link #isProven} and {@link #acceptedNanos} from any.
 *
 * <p><b>Ownership:</b> owns its channel.
 */
final class ServedConnection implements SelectorLoop.Handler, ServeLoop.Served {
    private static final Logger LOG = LoggerFactory.getLogger(ServedConnection.class);

    /** Bytes of a file that one system call sends. */
    private static final long TRANSFER_BYTES = 1 << 20;

    /** System calls before other connections get their turn. */
    private static final int MAX_CALLS = 4;

    /** Socket that the connection was accepted from; thread-safe. */
    interface Listener {
        /**
         * Returns the answer to a hello.
         *
         * @param isServed whether the pool that it asks for is served here
         */
        Verdict judge(byte[] hello, byte[] challenge, boolean isServed);

        /** Returns the pool that a hello asks for; null if it is not served here. */
        @Nullable
        ServedPool poolOf(byte[] hello);

        /** Returns the secret that both ends prove. */
        Secret secret();

        /** Logs a refusal. */
        void refused(SocketChannel channel, Verdict verdict);

        /** Returns the time without a request after which a connection is closed. */
        long idleNanos();

        /** Returns the time after which a connection is closed whose peer does not receive. */
        long stalledNanos();

        /** Counts the end of a connection. */
        void closed();
    }

    private enum State {
        AWAITING_HELLO,
        OPEN,
        /** Waits for the peer to close first, since a reset could overtake the last bytes. */
        ENDING,
        CLOSED
    }

    private final ServeLoop loop;
    private final Listener listener;
    private final SocketChannel channel;
    private final byte[] challenge = TcpHandshake.challenge();
    private final long acceptedNanos = System.nanoTime();
    private ByteBuffer handshake = ByteBuffer.allocate(TcpHandshake.HELLO_BYTES);
    private volatile State state = State.AWAITING_HELLO;
    private volatile boolean accepted;
    private @Nullable SelectionKey key;
    private long peer;
    private long lastProgressNanos = acceptedNanos;

    private ServedPool pool = ServedPool.NONE;
    private RequestBuffer requests;
    private final Position sent = new Position();
    private final Position next = new Position();

    /** A place in the sequence of responses. */
    private static final class Position {
        /** Offset of the request. */
        private int request;

        private int headerBytes;
        private int slice;
        private long sliceBytes;

        void set(Position other) {
            request = other.request;
            headerBytes = other.headerBytes;
            slice = other.slice;
            sliceBytes = other.sliceBytes;
        }

        /** Moves within the current slice, or to the next. */
        void advance(long bytes, long sliceLength) {
            sliceBytes += bytes;
            if (sliceBytes == sliceLength) {
                slice++;
                sliceBytes = 0;
            }
        }

        void startRequest(int offset) {
            request = offset;
            headerBytes = 0;
            slice = 0;
            sliceBytes = 0;
        }
    }

    ServedConnection(ServeLoop loop, Listener listener, SocketChannel channel) {
        this.loop = loop;
        this.listener = listener;
        this.channel = channel;
        this.requests = new RequestBuffer(loop, pool);
    }

    /** Sends the challenge; on the loop's thread. */
    void open() {
        lastProgressNanos = System.nanoTime();
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            key = loop.selector().register(channel, SelectionKey.OP_READ, this);
            loop.opened(this);
            sendAll(challenge);
        } catch (IOException | RuntimeException | Error e) {
            failed(e);
        }
    }

    private void sendAll(byte[] message) throws IOException {
        if (channel.write(ByteBuffer.wrap(message)) < message.length) {
            throw new IOException("the socket of a new connection does not take " + message.length + " bytes");
        }
    }

    long acceptedNanos() {
        return acceptedNanos;
    }

    /** Returns whether this connection is one of a peer, or none any more. */
    boolean isProven() {
        return accepted || state == State.CLOSED;
    }

    /** Closes a connection that has not proven itself, to make room for others; from any thread. */
    void expel() {
        boolean unused = loop.selector().execute(() -> {
            if (!accepted) {
                close();
            }
        });
    }

    @Override
    public boolean isOf(long fabricId) {
        return state == State.OPEN && peer == fabricId;
    }

    @Override
    public boolean reads(ServedPool served) {
        return state == State.OPEN && pool == served;
    }

    @Override
    public void ready(SelectionKey ready) throws IOException {
        switch (state) {
            case AWAITING_HELLO -> shakeHands();
            case OPEN -> serve();
            case ENDING -> drain();
            case CLOSED -> LOG.debug("A closed connection is ready");
        }
    }

    private void shakeHands() throws IOException {
        if (channel.read(handshake) < 0) {
            throw new EOFException("the peer closed the connection during the handshake");
        }
        if (handshake.hasRemaining()) {
            return;
        }
        byte[] hello = handshake.array();
        handshake = ByteBuffer.allocate(0);
        peer = TcpHandshake.readerOf(hello);
        ServedPool asked = listener.poolOf(hello);
        Verdict verdict = listener.judge(hello, challenge, asked != null);
        sendAll(TcpHandshake.answer(verdict, hello, challenge, listener.secret()));
        lastProgressNanos = System.nanoTime();
        if (verdict == Verdict.ACCEPTED && asked != null) {
            pool = asked;
            requests = new RequestBuffer(loop, asked);
            accepted = true;
            state = State.OPEN;
        } else {
            listener.refused(channel, verdict);
            end();
        }
    }

    /** Receives requests and answers them, for a few system calls. */
    private void serve() throws IOException {
        for (int call = 0; call < MAX_CALLS && state == State.OPEN; call++) {
            boolean more = receive();
            boolean blocked = !answer();
            if (state != State.OPEN || blocked || !more) {
                return;
            }
        }
    }

    /** Receives requests if there is room; returns whether there may be more. */
    private boolean receive() throws IOException {
        if (requests.compact(sent.request)) {
            sent.request = 0;
        }
        if (!requests.hasRoom()) {
            return true;
        }
        int received = requests.receive(channel);
        if (received < 0) {
            close();
            return false;
        }
        if (received > 0) {
            lastProgressNanos = System.nanoTime();
        }
        return !requests.hasRoom();
    }

    /** Answers requests; returns false if the socket is full. */
    private boolean answer() throws IOException {
        for (int call = 0; call < MAX_CALLS; call++) {
            if (!requests.check(sent.request)) {
                if (requests.endsAt(sent.request)) {
                    requests.release();
                    sent.request = 0;
                }
                interest(SelectionKey.OP_READ);
                return true;
            }
            long taken = isAtFile(sent) ? sendFile() : sendMemory();
            if (state != State.OPEN) {
                return true;
            }
            if (taken == 0) {
                interest(requests.hasRoom() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_WRITE);
                return false;
            }
            lastProgressNanos = System.nanoTime();
        }
        interest(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        return false;
    }

    private void interest(int operations) {
        SelectionKey current = key;
        if (current != null && current.isValid() && current.interestOps() != operations) {
            current.interestOps(operations);
        }
    }

    /** Returns whether the next bytes are those of a file that are too many to copy. */
    private boolean isAtFile(Position position) {
        return position.headerBytes == Frames.RESPONSE_HEADER_BYTES
                && Region.isOnDisk(requests.regionId(position.request, position.slice))
                && requests.length(position.request, position.slice) - position.sliceBytes > Staging.SHORT_BYTES;
    }

    private long sendFile() throws IOException {
        int regionId = requests.regionId(sent.request, sent.slice);
        long offset = requests.offset(sent.request, sent.slice) + sent.sliceBytes;
        long length = Math.min(requests.length(sent.request, sent.slice) - sent.sliceBytes, TRANSFER_BYTES);
        FileSlice range = pool.leased(regionId, offset, length);
        if (range == null) {
            throw new IOException("the lease of region " + regionId + " ended while it was sent");
        }
        try {
            long taken = loop.files().transfer(range, channel);
            advance(taken);
            return taken;
        } catch (IOException e) {
            refuseIfUnreadable(regionId, offset, length);
            throw e;
        }
    }

    /** The lease may have ended meanwhile, and then nothing is wrong with the file. */
    private void refuseIfUnreadable(int regionId, long offset, long length) {
        FileSlice range = pool.leased(regionId, offset, length);
        if (range != null) {
            loop.files().refuseIfUnreadable(range);
        }
    }

    private long sendMemory() throws IOException {
        Staging staging = loop.staging();
        gather(staging);
        long taken = staging.count() == 1
                ? channel.write(staging.vectors()[0])
                : channel.write(staging.vectors(), 0, staging.count());
        if (taken == staging.bytes()) {
            sent.set(next);
        } else {
            advance(taken);
        }
        if (sent.headerBytes == Frames.RESPONSE_HEADER_BYTES && requests.status(sent.request) != Status.OK) {
            end();
        }
        return taken;
    }

    /** Collects the bytes from the position on that can be sent by one system call, and moves {@link #next} past. */
    private void gather(Staging staging) throws IOException {
        loop.buffers().reset();
        staging.clear();
        next.set(sent);
        while (staging.hasRoom(Frames.RESPONSE_HEADER_BYTES) && requests.check(next.request)) {
            Status status = requests.status(next.request);
            if (next.headerBytes < Frames.RESPONSE_HEADER_BYTES) {
                gatherHeader(status, staging);
            }
            if (status != Status.OK) {
                return;
            }
            int slices = requests.slices(next.request);
            while (next.slice < slices) {
                if (isAtFile(next) || !gatherSlice(staging)) {
                    return;
                }
            }
            next.startRequest(requests.end(next.request));
        }
    }

    private void gatherHeader(Status status, Staging staging) {
        long length = status == Status.OK ? requests.responseBytes(next.request) : 0;
        MemorySlice header = staging.append(Frames.RESPONSE_HEADER_BYTES - next.headerBytes);
        long first = (requests.id(next.request) & 0xFFFFFFFFL) | (long) status.number() << 32;
        if (next.headerBytes == 0) {
            header.putLong(0, first);
            header.putLong(Long.BYTES, length);
        } else {
            // In the rare case that a part of it has been sent, only the rest follows.
            byte[] whole = ByteBuffer.allocate(Frames.RESPONSE_HEADER_BYTES)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putLong(first)
                    .putLong(length)
                    .array();
            header.putBytes(0, whole, next.headerBytes, whole.length - next.headerBytes);
        }
        next.headerBytes = Frames.RESPONSE_HEADER_BYTES;
    }

    /** Adds a slice, or as much of it as one buffer shows; returns false if there is no room for it now. */
    private boolean gatherSlice(Staging staging) throws IOException {
        int regionId = requests.regionId(next.request, next.slice);
        long offset = requests.offset(next.request, next.slice) + next.sliceBytes;
        long sliceLength = requests.length(next.request, next.slice);
        long length = sliceLength - next.sliceBytes;
        if (!staging.hasRoom(length)) {
            return false;
        }
        long added = length;
        if (Region.isOnDisk(regionId)) {
            copyFromFile(regionId, offset, length, staging.append((int) length));
        } else {
            Region region = pool.get(regionId);
            if (region == null) {
                throw new IOException("region " + regionId + " was released while it was sent");
            }
            if (length <= Staging.SHORT_BYTES) {
                MemorySlice memory = loop.buffers().memory(region);
                if (memory == null) {
                    throw new IOException("region " + regionId + " was unmapped while it was sent");
                }
                memory.slice(offset, length).copyTo(staging.append((int) length));
            } else {
                ByteBuffer vector = loop.buffers().take(region, offset, length);
                if (vector == null) {
                    throw new IOException("region " + regionId + " was unmapped while it was sent");
                }
                staging.add(vector);
                added = vector.remaining();
            }
        }
        next.advance(added, sliceLength);
        return true;
    }

    private void copyFromFile(int regionId, long offset, long length, MemorySlice target) throws IOException {
        FileSlice range = pool.leased(regionId, offset, length);
        if (range == null) {
            throw new IOException("the lease of region " + regionId + " ended while it was sent");
        }
        try {
            range.copyToAddress(target.address());
        } catch (IOException e) {
            // The lease may have ended meanwhile, and then nothing is wrong with the file.
            if (pool.leased(regionId, offset, length) != null) {
                loop.files().refuse(range, e);
            }
            throw e;
        }
    }

    /** Moves {@link #sent} past bytes that the socket has taken. */
    private void advance(long bytes) {
        long left = bytes;
        while (left > 0) {
            int header = (int) Math.min(left, Frames.RESPONSE_HEADER_BYTES - sent.headerBytes);
            sent.headerBytes += header;
            left -= header;
            int slices = requests.slices(sent.request);
            while (left > 0 && sent.slice < slices) {
                long length = requests.length(sent.request, sent.slice);
                long part = Math.min(left, length - sent.sliceBytes);
                sent.advance(part, length);
                left -= part;
            }
            if (sent.slice == slices && requests.status(sent.request) == Status.OK) {
                sent.startRequest(requests.end(sent.request));
            }
        }
    }

    /** Sends no more, and closes when the peer has closed, or after a while. */
    private void end() throws IOException {
        state = State.ENDING;
        lastProgressNanos = System.nanoTime();
        requests.release();
        channel.shutdownOutput();
        interest(SelectionKey.OP_READ);
    }

    private void drain() throws IOException {
        ByteBuffer buffer = loop.lendBuffer();
        try {
            if (channel.read(buffer) < 0) {
                close();
            }
        } finally {
            loop.returnBuffer(buffer);
        }
    }

    @Override
    public boolean tick(long now) {
        long silentNanos = now - lastProgressNanos;
        long limitNanos = switch (state) {
            case AWAITING_HELLO, ENDING -> TcpSettings.HANDSHAKE_TIMEOUT.toNanos();
            case OPEN -> requests.isEmpty() ? listener.idleNanos() : listener.stalledNanos();
            case CLOSED -> Long.MAX_VALUE;
        };
        if (silentNanos >= limitNanos) {
            LOG.debug(
                    "Connection from {} closed after {} ms in state {}",
                    peer,
                    TimeUnit.NANOSECONDS.toMillis(silentNanos),
                    state);
            close();
        }
        return state == State.AWAITING_HELLO || state == State.ENDING;
    }

    @Override
    public void failed(Throwable cause) {
        LOG.debug("Served connection of {} failed in state {}", peer, state, cause);
        close();
    }

    @Override
    public void close() {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        requests.release();
        loop.closed(this);
        listener.closed();
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("Cannot close a served connection", e);
        }
    }
}
