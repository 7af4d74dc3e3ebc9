// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Vectors of one gathering write: ranges of regions, and between them headers and short slices, which are copied
 * together so that the kernel sees few vectors.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns the memory that headers and short slices are copied to.
 */
final class Staging implements AutoCloseable {
    /** Slices up to this length are copied: a vector of their own would cost the kernel more. */
    static final int SHORT_BYTES = 16 << 10;

    private static final int BYTES = 128 << 10;
    private static final int MAX_VECTORS = 64;
    /** Enough for one system call to fill a socket's buffer. */
    private static final long MAX_BYTES = 4 << 20;

    private final NativeBuffer memory = new NativeBuffer(BYTES);
    private final MemorySlice slice = new MemorySlice(memory.address(), BYTES);
    private final ByteBuffer[] copied = new ByteBuffer[MAX_VECTORS];
    private final ByteBuffer[] vectors = new ByteBuffer[MAX_VECTORS];
    private int count;
    private long bytes;
    private int end;
    private boolean isLastCopied;

    Staging() {
        for (int i = 0; i < MAX_VECTORS; i++) {
            copied[i] = slice.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
            vectors[i] = copied[i];
        }
    }

    void clear() {
        count = 0;
        bytes = 0;
        end = 0;
        isLastCopied = false;
    }

    /** Returns the vectors, of which the first {@link #count} are in use. */
    ByteBuffer[] vectors() {
        return vectors;
    }

    int count() {
        return count;
    }

    long bytes() {
        return bytes;
    }

    /** Returns whether a range of this length can be added, by copy or as a vector. */
    boolean hasRoom(long length) {
        return bytes < MAX_BYTES && count < MAX_VECTORS - 1 && (length > SHORT_BYTES || end + length <= BYTES);
    }

    /** Adds a range of a region. */
    void add(ByteBuffer vector) {
        vectors[count++] = vector;
        bytes += vector.remaining();
        isLastCopied = false;
    }

    /** Adds bytes that the caller copies to the returned place; {@link #hasRoom} has returned true. */
    MemorySlice append(int length) {
        if (!isLastCopied) {
            ByteBuffer vector = copied[count];
            vector.limit(end).position(end);
            vectors[count++] = vector;
            isLastCopied = true;
        }
        MemorySlice place = slice.slice(end, length);
        end += length;
        bytes += length;
        vectors[count - 1].limit(end);
        return place;
    }

    @Override
    public void close() {
        memory.close();
    }
}
