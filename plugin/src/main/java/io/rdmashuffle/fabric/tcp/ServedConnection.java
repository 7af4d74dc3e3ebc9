// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.Frames.Status;
import io.rdmashuffle.fabric.tcp.TcpHandshake.Verdict;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
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

    /** The marks in the header of a request that was checked: its status, above the number of slices. */
    private static final int STATUS_SHIFT = 16;

    private static final int SLICES_MASK = 0xFFFF;

    /** Socket that the connection was accepted from; thread-safe. */
    interface Listener {
        /** Returns the answer to a hello. */
        Verdict judge(byte[] hello, byte[] challenge);

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

    /** Requests, from its beginning to its position; null when there are none. */
    private @Nullable ByteBuffer in;

    /** Before this offset, requests have been checked and their headers marked with the outcome. */
    private int checkedEnd;

    private final Position sent = new Position();
    private final Position next = new Position();

    /** A place in the sequence of responses. */
    private static final class Position {
        /** Offset of the request in the buffer. */
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

        void nextRequest(int slices) {
            request += Frames.REQUEST_HEADER_BYTES + slices * Frames.SLICE_BYTES;
            headerBytes = 0;
            slice = 0;
            sliceBytes = 0;
        }
    }

    ServedConnection(ServeLoop loop, Listener listener, SocketChannel channel) {
        this.loop = loop;
        this.listener = listener;
        this.channel = channel;
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
        Verdict verdict = listener.judge(hello, challenge);
        sendAll(TcpHandshake.answer(verdict, hello, challenge, listener.secret()));
        lastProgressNanos = System.nanoTime();
        if (verdict == Verdict.ACCEPTED) {
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
        ByteBuffer buffer = in;
        if (buffer == null) {
            buffer = loop.lendBuffer();
            in = buffer;
        }
        compact(buffer);
        if (!buffer.hasRemaining()) {
            return true;
        }
        int received = channel.read(buffer);
        if (received < 0) {
            close();
            return false;
        }
        if (received > 0) {
            lastProgressNanos = System.nanoTime();
        }
        if (buffer.position() == 0) {
            in = null;
            loop.returnBuffer(buffer);
        }
        return !buffer.hasRemaining();
    }

    /** Moves the requests to the beginning of the buffer if that makes room for a whole one. */
    private void compact(ByteBuffer buffer) {
        if (sent.request > 0 && buffer.remaining() < Frames.MAX_REQUEST_BYTES) {
            int from = sent.request;
            buffer.flip().position(from);
            buffer.compact();
            checkedEnd = Math.max(0, checkedEnd - from);
            sent.request = 0;
        }
    }

    /** Answers requests; returns false if the socket is full. */
    private boolean answer() throws IOException {
        for (int call = 0; call < MAX_CALLS; call++) {
            ByteBuffer buffer = in;
            if (buffer == null || !check(buffer, sent.request)) {
                finishRequests();
                interest(SelectionKey.OP_READ);
                return true;
            }
            long taken = isAtFile(buffer, sent) ? sendFile(buffer) : sendMemory(buffer);
            if (state != State.OPEN) {
                return true;
            }
            if (taken == 0) {
                interest(buffer.hasRemaining() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_WRITE);
                return false;
            }
            lastProgressNanos = System.nanoTime();
        }
        interest(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
        return false;
    }

    /** Returns the buffer if all requests have been answered. */
    private void finishRequests() {
        ByteBuffer buffer = in;
        if (buffer != null && sent.request == buffer.position()) {
            in = null;
            loop.returnBuffer(buffer);
            sent.request = 0;
            checkedEnd = 0;
        }
    }

    private void interest(int operations) {
        SelectionKey current = key;
        if (current != null && current.isValid() && current.interestOps() != operations) {
            current.interestOps(operations);
        }
    }

    /** Checks the request at an offset, once; returns false if it has not arrived as a whole. */
    private boolean check(ByteBuffer buffer, int request) {
        if (request < checkedEnd) {
            return true;
        }
        int arrived = buffer.position() - request;
        if (arrived < Frames.REQUEST_HEADER_BYTES) {
            return false;
        }
        int slices = buffer.getInt(request + 4);
        boolean malformed = slices < 1 || slices > Frames.MAX_SLICES;
        if (!malformed && arrived < Frames.REQUEST_HEADER_BYTES + slices * Frames.SLICE_BYTES) {
            return false;
        }
        int counted = malformed ? 0 : slices;
        Status status = malformed ? Status.MALFORMED : Status.OK;
        for (int i = 0; i < counted && status == Status.OK; i++) {
            status = statusOf(buffer, request, i);
        }
        buffer.putInt(request + 4, counted | status.number() << STATUS_SHIFT);
        checkedEnd = request + Frames.REQUEST_HEADER_BYTES + counted * Frames.SLICE_BYTES;
        return true;
    }

    private Status statusOf(ByteBuffer buffer, int request, int index) {
        int at = offsetOf(request, index);
        int regionId = buffer.getInt(at);
        long offset = buffer.getLong(at + Frames.OFFSET);
        long length = buffer.getLong(at + Frames.LENGTH);
        if (offset < 0 || length < 1) {
            return Status.MALFORMED;
        }
        if (Region.isOnDisk(regionId)) {
            FileSlice range = leased(regionId, offset, length);
            return range != null && loop.files().isReadable(regionId, range) ? Status.OK : Status.UNREADABLE;
        }
        Region region = loop.regions().get(regionId);
        if (region == null) {
            return loop.regions().wasReleased(regionId) ? Status.REGION_ABSENT : Status.OUT_OF_BOUNDS;
        }
        long end = region.memory().lengthBytes();
        return length <= end && offset <= end - length ? Status.OK : Status.OUT_OF_BOUNDS;
    }

    private @Nullable FileSlice leased(int regionId, long offset, long length) {
        DiskTier disk = loop.disk();
        return disk == null ? null : disk.leased(regionId, offset, length);
    }

    private static int offsetOf(int request, int slice) {
        return request + Frames.REQUEST_HEADER_BYTES + slice * Frames.SLICE_BYTES;
    }

    private static int slicesOf(ByteBuffer buffer, int request) {
        return buffer.getInt(request + 4) & SLICES_MASK;
    }

    private static Status checkedStatus(ByteBuffer buffer, int request) {
        return Status.of(buffer.getInt(request + 4) >>> STATUS_SHIFT);
    }

    /** Returns whether the next bytes are those of a file that are too many to copy. */
    private static boolean isAtFile(ByteBuffer buffer, Position position) {
        if (position.headerBytes < Frames.RESPONSE_HEADER_BYTES) {
            return false;
        }
        int at = offsetOf(position.request, position.slice);
        return Region.isOnDisk(buffer.getInt(at))
                && buffer.getLong(at + Frames.LENGTH) - position.sliceBytes > Staging.SHORT_BYTES;
    }

    private long sendFile(ByteBuffer buffer) throws IOException {
        int at = offsetOf(sent.request, sent.slice);
        int regionId = buffer.getInt(at);
        long offset = buffer.getLong(at + Frames.OFFSET) + sent.sliceBytes;
        long length = Math.min(buffer.getLong(at + Frames.LENGTH) - sent.sliceBytes, TRANSFER_BYTES);
        FileSlice range = leased(regionId, offset, length);
        if (range == null) {
            throw new IOException("the lease of region " + regionId + " ended while it was sent");
        }
        try {
            long taken = loop.files().transfer(regionId, range, channel);
            advance(buffer, taken);
            return taken;
        } catch (IOException e) {
            refuseIfUnreadable(regionId, offset, length);
            throw e;
        }
    }

    /** The lease may have ended meanwhile, and then nothing is wrong with the file. */
    private void refuseIfUnreadable(int regionId, long offset, long length) {
        FileSlice range = leased(regionId, offset, length);
        if (range != null) {
            loop.files().refuseIfUnreadable(regionId, range);
        }
    }

    private long sendMemory(ByteBuffer buffer) throws IOException {
        Staging staging = loop.staging();
        gather(buffer, staging);
        long taken = staging.count() == 1
                ? channel.write(staging.vectors()[0])
                : channel.write(staging.vectors(), 0, staging.count());
        if (taken == staging.bytes()) {
            sent.set(next);
        } else {
            advance(buffer, taken);
        }
        if (sent.headerBytes == Frames.RESPONSE_HEADER_BYTES && checkedStatus(buffer, sent.request) != Status.OK) {
            end();
        }
        return taken;
    }

    /** Collects the bytes from the position on that can be sent by one system call, and moves {@link #next} past. */
    private void gather(ByteBuffer buffer, Staging staging) throws IOException {
        loop.buffers().reset();
        staging.clear();
        next.set(sent);
        while (staging.hasRoom(Frames.RESPONSE_HEADER_BYTES) && check(buffer, next.request)) {
            if (next.headerBytes < Frames.RESPONSE_HEADER_BYTES) {
                gatherHeader(buffer, staging);
            }
            if (checkedStatus(buffer, next.request) != Status.OK) {
                return;
            }
            int slices = slicesOf(buffer, next.request);
            while (next.slice < slices) {
                if (isAtFile(buffer, next) || !gatherSlice(buffer, staging)) {
                    return;
                }
            }
            next.nextRequest(slices);
        }
    }

    private void gatherHeader(ByteBuffer buffer, Staging staging) {
        Status status = checkedStatus(buffer, next.request);
        long length = 0;
        if (status == Status.OK) {
            int slices = slicesOf(buffer, next.request);
            for (int i = 0; i < slices; i++) {
                length += buffer.getLong(offsetOf(next.request, i) + Frames.LENGTH);
            }
        }
        MemorySlice header = staging.append(Frames.RESPONSE_HEADER_BYTES - next.headerBytes);
        // In the rare case that a part of it has been sent, the rest goes byte by byte.
        long first = (buffer.getInt(next.request) & 0xFFFFFFFFL) | (long) status.number() << 32;
        if (next.headerBytes == 0) {
            header.putLong(0, first);
            header.putLong(Long.BYTES, length);
        } else {
            byte[] whole = ByteBuffer.allocate(Frames.RESPONSE_HEADER_BYTES)
                    .order(buffer.order())
                    .putLong(first)
                    .putLong(length)
                    .array();
            header.putBytes(0, whole, next.headerBytes, whole.length - next.headerBytes);
        }
        next.headerBytes = Frames.RESPONSE_HEADER_BYTES;
    }

    /** Adds a slice, or as much of it as one buffer shows; returns false if there is no room for it now. */
    private boolean gatherSlice(ByteBuffer buffer, Staging staging) throws IOException {
        int at = offsetOf(next.request, next.slice);
        int regionId = buffer.getInt(at);
        long offset = buffer.getLong(at + Frames.OFFSET) + next.sliceBytes;
        long length = buffer.getLong(at + Frames.LENGTH) - next.sliceBytes;
        if (!staging.hasRoom(length)) {
            return false;
        }
        long added = length;
        if (Region.isOnDisk(regionId)) {
            copyFromFile(regionId, offset, length, staging.append((int) length));
        } else {
            Region region = loop.regions().get(regionId);
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
        next.sliceBytes += added;
        if (added == length) {
            next.slice++;
            next.sliceBytes = 0;
        }
        return true;
    }

    private void copyFromFile(int regionId, long offset, long length, MemorySlice target) throws IOException {
        FileSlice range = leased(regionId, offset, length);
        if (range == null) {
            throw new IOException("the lease of region " + regionId + " ended while it was sent");
        }
        try {
            range.copyToAddress(target.address());
        } catch (IOException e) {
            // The lease may have ended meanwhile, and then nothing is wrong with the file.
            if (leased(regionId, offset, length) != null) {
                loop.files().refuse(regionId, e);
            }
            throw e;
        }
    }

    /** Moves the position past bytes that the socket has taken. */
    private void advance(ByteBuffer buffer, long bytes) {
        long left = bytes;
        while (left > 0) {
            int header = (int) Math.min(left, Frames.RESPONSE_HEADER_BYTES - sent.headerBytes);
            sent.headerBytes += header;
            left -= header;
            int slices = slicesOf(buffer, sent.request);
            while (left > 0 && sent.slice < slices) {
                long length = buffer.getLong(offsetOf(sent.request, sent.slice) + Frames.LENGTH);
                long part = Math.min(left, length - sent.sliceBytes);
                sent.sliceBytes += part;
                left -= part;
                if (sent.sliceBytes == length) {
                    sent.slice++;
                    sent.sliceBytes = 0;
                }
            }
            if (sent.slice == slices && checkedStatus(buffer, sent.request) == Status.OK) {
                sent.nextRequest(slices);
            }
        }
    }

    /** Sends no more, and closes when the peer has closed, or after a while. */
    private void end() throws IOException {
        state = State.ENDING;
        lastProgressNanos = System.nanoTime();
        returnBuffer();
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

    private void returnBuffer() {
        ByteBuffer buffer = in;
        if (buffer != null) {
            in = null;
            loop.returnBuffer(buffer);
        }
    }

    @Override
    public boolean tick(long now) {
        long silentNanos = now - lastProgressNanos;
        boolean expired = switch (state) {
            case AWAITING_HELLO, ENDING -> silentNanos >= TcpSettings.HANDSHAKE_TIMEOUT.toNanos();
            case OPEN -> in == null ? silentNanos >= listener.idleNanos() : silentNanos >= listener.stalledNanos();
            case CLOSED -> false;
        };
        if (expired) {
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
        returnBuffer();
        loop.closed(this);
        listener.closed();
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("Cannot close a served connection", e);
        }
    }
}
