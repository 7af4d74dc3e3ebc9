package io.rdmashuffle.shuffle;

import io.rdmashuffle.memory.MemorySlice;
import java.io.InputStream;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;

/**
 * Reads slices one after another as a stream.
 *
 * <p><b>Threading:</b> none; for one thread.
 *
 * <p><b>Ownership:</b> owns nothing; the buffer that it came from keeps the memory.
 */
final class SliceInputStream extends InputStream {
    private final Iterator<MemorySlice> rest;
    private MemorySlice current = new MemorySlice(0, 0);
    private long position;
    private long available;

    SliceInputStream(List<MemorySlice> slices) {
        this.rest = slices.iterator();
        this.available = slices.stream().mapToLong(MemorySlice::lengthBytes).sum();
    }

    @Override
    public int read() {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) {
        Objects.checkFromIndexSize(offset, length, target.length);
        if (length == 0) {
            return 0;
        }
        if (!advance()) {
            return -1;
        }
        int taken = (int) Math.min(length, current.lengthBytes() - position);
        current.getBytes(position, target, offset, taken);
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
