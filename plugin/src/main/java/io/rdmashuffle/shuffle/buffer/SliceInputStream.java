// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.StoredSlice;
import java.io.IOException;
import java.io.InputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * Reads slices one after another as a stream.
 *
 * <p><b>Threading:</b> none; for one thread.
 *
 * <p><b>Ownership:</b> owns nothing; the buffer that it came from keeps the memory, and reads fail once that is given
 * back.
 */
public final class SliceInputStream extends InputStream {
    private final BlockMemory memory;
    private final Iterator<StoredSlice> rest;
    private StoredSlice current = new MemorySlice(0, 0);
    private long position;
    private long available;

    SliceInputStream(List<StoredSlice> slices, BlockMemory memory) {
        this.memory = memory;
        this.rest = slices.iterator();
        this.available = slices.stream().mapToLong(StoredSlice::lengthBytes).sum();
    }

    /**
     * Reads memory that the caller keeps where it is until it has stopped reading.
     *
     * @param current says after each read whether what was read was the block
     */
    public static SliceInputStream over(List<StoredSlice> slices, BooleanSupplier current) {
        return new SliceInputStream(slices, new BlockMemory.Counted(() -> true, () -> {}, current));
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
        int taken = (int) Math.min(length, current.lengthBytes() - position);
        copy(target, offset, taken);
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

    /** Reads under a reference: a thread that outlives its task must not read memory that is unmapped. */
    private void copy(byte[] target, int offset, int length) throws IOException {
        if (!memory.retain()) {
            throw new IOException("the block's memory has been given back");
        }
        try {
            current.getBytes(position, target, offset, length);
            if (!memory.isCurrent()) {
                throw new IOException("the block was removed by its owner while it was read");
            }
        } finally {
            memory.release();
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
