// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of one map output, appended to leases as they come; neighbouring chunks become one lease where the pool allows.
 * Never waits for room: what a full pool refuses goes to files at once.
 *
 * <p><b>Threading:</b> none; for one task thread.
 *
 * <p><b>Ownership:</b> owns the leases until {@link #toMapOutput} hands them over; {@link #discard()} otherwise.
 */
public final class ChunkedOutput {
    /** Where no whole chunk is free, leases down to this fraction of one are taken. */
    private static final long MAX_CHUNK_PARTS = 16;

    private final Pool pool;
    private final long chunkBytes;
    private final long expectedBytes;
    private final boolean refused;
    private final List<Lease> leases = new ArrayList<>();
    private final List<Long> filled = new ArrayList<>();
    private MemorySlice current = new MemorySlice(0, 0);
    private long position;

    /**
     * Creates an output without bytes.
     *
     * @param expectedBytes how many it is likely to have, which are asked for at once; 0 if that is not known
     * @param refused whether the pool counts as full for it
     */
    public ChunkedOutput(Pool pool, long chunkBytes, long expectedBytes, boolean refused) {
        this.refused = refused;
        this.pool = pool;
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
            int piece = (int) Math.min(length - done, current.lengthBytes() - position);
            current.putBytes(position, source, offset + done, piece);
            position += piece;
            done += piece;
        }
        return done;
    }

    /** Appends what is left of a buffer; what is left afterwards found no room. */
    public void append(ByteBuffer source) throws InterruptedIOException {
        while (source.hasRemaining() && hasRoom(chunkBytes)) {
            int piece = (int) Math.min(source.remaining(), current.lengthBytes() - position);
            current.slice(position, piece).asByteBuffer().put(source.slice(source.position(), piece));
            source.position(source.position() + piece);
            position += piece;
        }
    }

    /**
     * Appends {@code length} bytes of a channel.
     *
     * @return false when the pool is full; what was read until then is lost to the channel
     * @throws IOException if the channel ends early
     */
    public boolean append(ReadableByteChannel source, long length) throws IOException {
        long done = 0;
        while (done < length) {
            if (!hasRoom(Math.max(chunkBytes, length - done))) {
                return false;
            }
            long piece = Math.min(Math.min(length - done, current.lengthBytes() - position), Integer.MAX_VALUE);
            ByteBuffer target = current.slice(position, piece).asByteBuffer();
            int read = source.read(target);
            if (read < 0) {
                throw new IOException("spill file ends after " + done + " of " + length + " bytes");
            }
            position += read;
            done += read;
        }
        return true;
    }

    /** Returns what has been written, in order. */
    public List<MemorySlice> slices() {
        List<MemorySlice> slices = new ArrayList<>(leases.size());
        for (int i = 0; i < leases.size(); i++) {
            long used = i == leases.size() - 1 ? position : filled.get(i);
            if (used > 0) {
                slices.add(leases.get(i).memory().slice(0, used));
            }
        }
        return slices;
    }

    /**
     * Turns the bytes into a map output; null when the pool has no room for its index, and then nothing has changed.
     */
    @Nullable
    public MapOutput toMapOutput(long mapId, long[] lengths, int[] checksums) throws InterruptedIOException {
        seal();
        long[] used = filled.stream().mapToLong(Long::longValue).toArray();
        try {
            MapOutput output = MapOutput.create(pool, mapId, leases, used, lengths, checksums);
            if (output != null) {
                leases.clear();
            } else {
                unseal();
            }
            return output;
        } catch (InterruptedException e) {
            unseal();
            throw interrupted();
        }
    }

    /** Gives the leases back. */
    public void discard() {
        leases.forEach(Lease::close);
        leases.clear();
        filled.clear();
        current = new MemorySlice(0, 0);
        position = 0;
    }

    private boolean hasRoom(long wanted) throws InterruptedIOException {
        return position < current.lengthBytes() || (!refused && grow(wanted));
    }

    private boolean grow(long wanted) throws InterruptedIOException {
        if (!leases.isEmpty()) {
            Lease last = leases.get(leases.size() - 1);
            if (last.extend(wanted) > 0) {
                current = last.memory();
                return true;
            }
        }
        try {
            long least = Math.max(1, chunkBytes / MAX_CHUNK_PARTS);
            long most = leases.isEmpty() ? Math.max(wanted, expectedBytes) : wanted;
            Lease next = pool.reserve(Purpose.MAP_OUTPUT, least, most, Duration.ZERO);
            if (next == null) {
                return false;
            }
            if (!leases.isEmpty()) {
                filled.add(position);
            }
            leases.add(next);
            current = next.memory();
            position = 0;
            return true;
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    private void seal() {
        if (!leases.isEmpty()) {
            leases.get(leases.size() - 1).trim(position);
            filled.add(position);
        }
    }

    private void unseal() {
        if (!leases.isEmpty()) {
            filled.remove(filled.size() - 1);
            current = leases.get(leases.size() - 1).memory();
        }
    }

    private static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted while reserving pool memory");
    }
}
