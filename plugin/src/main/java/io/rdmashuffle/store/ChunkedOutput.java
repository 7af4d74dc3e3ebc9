// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.SliceCursor;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.disk.OutputBuffer;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Checksum;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of one map output, appended to leases as they come; neighbouring chunks become one lease where the pool allows.
 * Never waits for others to free room: what memory cannot hold goes on in the disk tier, and what that cannot hold to
 * files at once.
 *
 * <pre>
 *  leases of the output    | full, of any tier | .. | the last one              |
 *  of memory                                        | written | window          |    1 GiB of it at most
 *  of the disk tier                                 | written | window | rest   |    the window lies in a buffer
 * </pre>
 *
 * <p><b>Threading:</b> none; for one task thread.
 *
 * <p><b>Ownership:</b> owns the leases until {@link #toMapOutput} hands them over; {@link #discard()} otherwise. Either
 * ends the use of the buffer.
 */
public final class ChunkedOutput {
    /** Smallest lease, as a fraction of a chunk, where no whole chunk is free. */
    private static final long MAX_CHUNK_PARTS = 16;

    /** Bytes that are copied and checked at once: they stay in a core's cache, and the JVM reaches a safepoint soon. */
    private static final int MAX_PIECE_BYTES = 1 << 20;

    /** A long output takes no part of a chunk that is shorter than this: a lease of any pool has as much. */
    private static final long LONG_OUTPUT_PARTS = 2;

    /** An output is long when it has this many extents: they take 24 KB of the index, which reduce tasks read. */
    private static final long MANY_EXTENTS = 1024;

    /** A {@link ByteBuffer} holds 2 GiB - 1; leases may be longer. */
    private static final long MAX_WINDOW_BYTES = 1L << 30;

    private static final MemorySlice NO_ROOM = new MemorySlice(0, 0);

    /** Bytes that lie anywhere. */
    @FunctionalInterface
    public interface Source {
        /** Copies {@code bytes} from an offset of the source to an address. */
        void copyTo(long address, int offset, int length);
    }

    private final TieredPool pool;
    private final WaitPolicy waitPolicy;
    private final long chunkBytes;
    private final long expectedBytes;
    private final long maxWindowBytes;
    private final List<Lease> leases = new ArrayList<>();
    private final List<Long> filled = new ArrayList<>();
    private boolean refused;
    /** Only while the last lease lies on disk. */
    private @Nullable OutputBuffer buffer;

    /** Destination of bytes: the next part of the last lease, or a buffer before it. */
    private MemorySlice window = NO_ROOM;

    /** The window, for checksums; made when one is asked for. */
    private @Nullable ByteBuffer windowBytes;

    private long windowStart;
    private long position;

    /**
     * Creates an output without bytes, for a task.
     *
     * @param expectedBytes how many it is likely to have, which are asked for at once; 0 if that is not known
     * @param refused whether the pool counts as full for it
     */
    public ChunkedOutput(TieredPool pool, long chunkBytes, long expectedBytes, boolean refused) {
        this(pool, WaitPolicy.GROWTH, chunkBytes, expectedBytes, refused);
    }

    /**
     * Creates an output without bytes.
     *
     * @param waitPolicy with the pool: a task waits while that grows, a thread that serves other executors does not
     */
    public ChunkedOutput(TieredPool pool, WaitPolicy waitPolicy, long chunkBytes, long expectedBytes, boolean refused) {
        this(pool, waitPolicy, chunkBytes, expectedBytes, refused, MAX_WINDOW_BYTES);
    }

    ChunkedOutput(
            TieredPool pool,
            WaitPolicy waitPolicy,
            long chunkBytes,
            long expectedBytes,
            boolean refused,
            long maxWindowBytes) {
        this.maxWindowBytes = maxWindowBytes;
        this.refused = refused;
        this.pool = pool;
        this.waitPolicy = waitPolicy;
        this.chunkBytes = chunkBytes;
        this.expectedBytes = expectedBytes;
    }

    /**
     * Appends bytes.
     *
     * @return how many were taken: fewer than {@code length} when the pool is full
     */
    public int append(byte[] source, int offset, int length) throws InterruptedIOException {
        int done = 0;
        while (done < length && hasRoom(chunkBytes)) {
            int piece = (int) Math.min(length - done, window.lengthBytes() - position);
            window.putBytes(position, source, offset + done, piece);
            position += piece;
            done += piece;
        }
        return done;
    }

    /**
     * Appends bytes with one copy, and adds them to a checksum while they are in the processor's cache.
     *
     * @return how many were taken, and added: fewer than {@code length} when the pool is full
     */
    public int append(Source source, int length, Checksum checksum) throws InterruptedIOException {
        int done = 0;
        while (done < length && hasRoom(chunkBytes)) {
            int piece = pieceOf(length - done);
            source.copyTo(window.address() + position, done, piece);
            ByteBuffer bytes = windowBytes();
            int at = (int) position;
            checksum.update(bytes.limit(at + piece).position(at));
            position += piece;
            done += piece;
        }
        return done;
    }

    private int pieceOf(int left) {
        return (int) Math.min(Math.min(left, MAX_PIECE_BYTES), window.lengthBytes() - position);
    }

    private ByteBuffer windowBytes() {
        ByteBuffer bytes = windowBytes;
        if (bytes == null) {
            bytes = window.asByteBuffer();
            windowBytes = bytes;
        }
        return bytes.clear();
    }

    private void moveWindow(MemorySlice to) {
        window = to;
        windowBytes = null;
    }

    /** Appends the remaining bytes of a buffer; bytes that remain afterwards did not fit. */
    public void append(ByteBuffer source) throws InterruptedIOException {
        while (source.hasRemaining() && hasRoom(chunkBytes)) {
            int piece = pieceOf(source.remaining());
            window.slice(position, piece).asByteBuffer().put(source.slice(source.position(), piece));
            source.position(source.position() + piece);
            position += piece;
        }
    }

    /**
     * Appends {@code length} bytes of a channel.
     *
     * @return false if the pool is full; bytes read until then are lost to the channel
     * @throws IOException if the channel ends early
     */
    public boolean append(ReadableByteChannel source, long length) throws IOException {
        long done = 0;
        while (done < length) {
            if (!hasRoom(Math.max(chunkBytes, length - done))) {
                return false;
            }
            long piece = Math.min(Math.min(length - done, window.lengthBytes() - position), Integer.MAX_VALUE);
            ByteBuffer target = window.slice(position, piece).asByteBuffer();
            int read = source.read(target);
            if (read < 0) {
                throw new IOException("spill file ends after " + done + " of " + length + " bytes");
            }
            position += read;
            done += read;
        }
        return true;
    }

    /** Returns the appended bytes, in order; valid until the next append, or the end of the output. */
    public List<StoredSlice> slices() {
        List<StoredSlice> slices = new ArrayList<>(leases.size() + 1);
        for (int i = 0; i < leases.size(); i++) {
            long used = i == leases.size() - 1 ? windowStart : filled.get(i);
            if (used > 0) {
                slices.add(leases.get(i).bytes().slice(0, used));
            }
        }
        if (position > 0) {
            slices.add(window.slice(0, position));
        }
        return slices;
    }

    /**
     * Returns the CRC-32C of each partition of the appended bytes.
     *
     * @param lengths by partition, in sum no more than was appended
     * @throws IOException if some of it lies on disk and cannot be read
     */
    public int[] checksums(long[] lengths) throws IOException {
        SliceCursor cursor = new SliceCursor(slices());
        int[] checksums = new int[lengths.length];
        for (int p = 0; p < lengths.length; p++) {
            checksums[p] = Crc32c.of(cursor.take(lengths[p]));
        }
        return checksums;
    }

    /**
     * Turns the bytes into a map output; null when the pool has no room for its index or the disk fails, and then
     * nothing has changed.
     */
    @Nullable
    public MapOutput toMapOutput(long mapId, long[] lengths, int[] checksums) throws InterruptedIOException {
        if (!flush()) {
            return null;
        }
        seal();
        long[] used = filled.stream().mapToLong(Long::longValue).toArray();
        try {
            MapOutput output = MapOutput.create(pool, waitPolicy, mapId, leases, used, lengths, checksums);
            if (output != null) {
                leases.clear();
                returnBuffer();
            } else {
                unseal();
            }
            return output;
        } catch (InterruptedException e) {
            unseal();
            throw interrupted();
        }
    }

    /** Releases the leases. */
    public void discard() {
        leases.forEach(Lease::close);
        leases.clear();
        filled.clear();
        returnBuffer();
        moveWindow(NO_ROOM);
        windowStart = 0;
        position = 0;
    }

    private boolean hasRoom(long wanted) throws InterruptedIOException {
        if (position < window.lengthBytes()) {
            return true;
        }
        if (refused || !flush()) {
            return false;
        }
        return position < window.lengthBytes() || goOn() || grow(wanted);
    }

    /** Moves the window on within a lease of memory. */
    private boolean goOn() {
        if (leases.isEmpty() || lastUsed() == last().lengthBytes()) {
            return false;
        }
        enter(last(), lastUsed());
        return true;
    }

    /**
     * Writes the window to the disk tier if it belongs there, and advances it; returns false on failure, after which
     * the output accepts no bytes.
     */
    private boolean flush() {
        OutputBuffer from = buffer;
        if (from == null || position == 0) {
            return true;
        }
        Lease last = last();
        if (!pool.write(last, windowStart, window.slice(0, position))) {
            refused = true;
            return false;
        }
        enter(last, windowStart + position);
        return true;
    }

    /** Starts the window at this position of the last lease. */
    private void enter(Lease last, long start) {
        long room = last.lengthBytes() - start;
        windowStart = start;
        position = 0;
        if (Region.isOnDisk(last.region().id())) {
            OutputBuffer into = buffer;
            if (into == null) {
                into = pool.lendBuffer();
                buffer = into;
            }
            moveWindow(into.memory().slice(0, Math.min(into.memory().lengthBytes(), room)));
        } else {
            // Memory has come back since the output went to disk; what the buffer held is written.
            returnBuffer();
            moveWindow(last.memory().slice(start, Math.min(maxWindowBytes, room)));
        }
    }

    private Lease last() {
        return leases.get(leases.size() - 1);
    }

    private long lastUsed() {
        return windowStart + position;
    }

    private boolean grow(long wanted) throws InterruptedIOException {
        if (!leases.isEmpty()) {
            Lease last = last();
            long used = lastUsed();
            if (last.extend(wanted) > 0) {
                enter(last, used);
                return true;
            }
        }
        try {
            long appended = appended();
            long least = Math.min(Math.max(expectedBytes, appended) / MANY_EXTENTS, chunkBytes / LONG_OUTPUT_PARTS);
            long most = Math.max(wanted, expectedBytes - appended);
            Lease next = pool.reserve(
                    Purpose.MAP_OUTPUT, Math.max(Math.max(1, chunkBytes / MAX_CHUNK_PARTS), least), most, waitPolicy);
            if (next == null) {
                return false;
            }
            if (!leases.isEmpty()) {
                filled.add(lastUsed());
            }
            leases.add(next);
            enter(next, 0);
            return true;
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    private long appended() {
        return filled.stream().mapToLong(Long::longValue).sum() + lastUsed();
    }

    private void seal() {
        if (!leases.isEmpty()) {
            last().trim(lastUsed());
            filled.add(lastUsed());
        }
    }

    private void unseal() {
        if (!leases.isEmpty()) {
            enter(last(), filled.remove(filled.size() - 1));
        }
    }

    private void returnBuffer() {
        if (buffer != null) {
            buffer.close();
            buffer = null;
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted while reserving pool memory");
    }
}
