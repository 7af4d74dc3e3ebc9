// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.InputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Input stream over slices. A block that its owner moves meanwhile is read on at its new place.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns nothing; the caller keeps the memory, or reads retain its owner.
 */
public final class SliceInputStream extends InputStream {
    private final MovingBytes bytes;
    private final @Nullable ReferenceCounted retained;
    private MovingBytes.Place place;
    private Iterator<StoredSlice> rest;
    private StoredSlice current = new MemorySlice(0, 0);
    private long position;
    private long available;

    private SliceInputStream(MovingBytes.Place place, MovingBytes bytes, @Nullable ReferenceCounted retained) {
        this.bytes = bytes;
        this.retained = retained;
        this.place = place;
        this.rest = place.pieces().iterator();
        this.available = place.lengthBytes();
    }

    /**
     * Creates a stream over memory that the caller keeps in place while it reads.
     *
     * @param bytes finds the block's new location after a move
     */
    public static SliceInputStream over(MovingBytes.Place place, MovingBytes bytes) {
        return new SliceInputStream(place, bytes, null);
    }

    /** Reads slices whose owner every read retains: after its removal reads fail. */
    static SliceInputStream of(List<StoredSlice> slices, ReferenceCounted owner) {
        return new SliceInputStream(MovingBytes.Place.lasting(slices), from -> null, owner);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, target.length);
        if (length == 0) {
            return 0;
        }
        if (!advance()) {
            return -1;
        }
        int taken = copy(target, offset, length);
        position += taken;
        available -= taken;
        return taken;
    }

    @Override
    public long skip(long count) {
        long skipped = 0;
        while (skipped < count && advance()) {
            long taken = Math.min(count - skipped, current.lengthBytes() - position);
            position += taken;
            skipped += taken;
        }
        available -= skipped;
        return skipped;
    }

    @Override
    public int available() {
        return (int) Math.min(available, Integer.MAX_VALUE);
    }

    /**
     * Reads what there is in one piece, under a reference: a thread that outlives its task must not read memory that is
     * unmapped. Returns the number of bytes.
     */
    private int copy(byte[] target, int offset, int length) throws IOException {
        if (retained != null && !retained.retain()) {
            throw new IOException("the block's memory has been released");
        }
        try {
            while (true) {
                int taken = (int) Math.min(length, current.lengthBytes() - position);
                IOException unreadable = null;
                try {
                    current.getBytes(position, target, offset, taken);
                } catch (IOException e) {
                    unreadable = e;
                }
                if (!place.current().getAsBoolean()) {
                    // Its owner may have cut the file short.
                    goOnElsewhere();
                } else if (unreadable != null) {
                    throw unreadable;
                } else {
                    return taken;
                }
            }
        } finally {
            if (retained != null) {
                retained.release();
            }
        }
    }

    private void goOnElsewhere() throws IOException {
        long done = place.lengthBytes() - available;
        MovingBytes.Place moved = bytes.moved(place);
        if (moved == null || moved.lengthBytes() != place.lengthBytes()) {
            throw new IOException("the block was removed by its owner while it was read");
        }
        place = moved;
        rest = moved.pieces().iterator();
        current = new MemorySlice(0, 0);
        position = 0;
        available = moved.lengthBytes();
        if (skip(done) != done || !advance()) {
            throw new IOException("the block ends early where its owner has moved it");
        }
    }

    private boolean advance() {
        while (position == current.lengthBytes()) {
            if (!rest.hasNext()) {
                return false;
            }
            current = rest.next();
            position = 0;
        }
        return true;
    }
}
