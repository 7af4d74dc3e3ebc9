// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.memory.Lease;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Range of mapped memory with bounds-checked access, little-endian.
 *
 * <p><b>Threading:</b> immutable; accesses are plain.
 *
 * <p><b>Ownership:</b> owns nothing. A {@link Lease} or a retained {@link Mapping} must keep its memory mapped.
 *
 * @param address first byte, as this process sees it
 * @param lengthBytes bytes in the range
 */
public record MemorySlice(long address, long lengthBytes) implements StoredSlice {
    @Override
    public MemorySlice slice(long offset, long length) {
        return new MemorySlice(checked(offset, length), length);
    }

    @Override
    public MemorySlice inMemory() {
        return this;
    }

    public byte getByte(long offset) {
        return RawMemory.getByte(checked(offset, 1));
    }

    @Override
    public int getInt(long offset) {
        return RawMemory.getInt(checked(offset, Integer.BYTES));
    }

    @Override
    public long getLong(long offset) {
        return RawMemory.getLong(checked(offset, Long.BYTES));
    }

    public void putInt(long offset, int value) {
        RawMemory.putInt(checked(offset, Integer.BYTES), value);
    }

    public void putLong(long offset, long value) {
        RawMemory.putLong(checked(offset, Long.BYTES), value);
    }

    @Override
    public void getBytes(long offset, byte[] target, int targetOffset, int length) {
        Objects.checkFromIndexSize(targetOffset, length, target.length);
        RawMemory.getBytes(checked(offset, length), target, targetOffset, length);
    }

    /** Copies {@code source[sourceOffset..sourceOffset+length)} to {@code offset}. */
    public void putBytes(long offset, byte[] source, int sourceOffset, int length) {
        Objects.checkFromIndexSize(sourceOffset, length, source.length);
        RawMemory.putBytes(checked(offset, length), source, sourceOffset, length);
    }

    /** Copies this whole slice to the start of {@code target}, which must be at least as long. */
    public void copyTo(MemorySlice target) {
        copyToAddress(target.checked(0, lengthBytes));
    }

    @Override
    public void copyToAddress(long target) {
        RawMemory.copy(address, target, lengthBytes);
    }

    /** Sets every byte to zero. */
    public void clear() {
        RawMemory.clear(address, lengthBytes);
    }

    /**
     * Returns the slice as a direct buffer over the same memory.
     *
     * @throws IllegalArgumentException if the slice is longer than a buffer can be (2 GiB - 1)
     */
    public ByteBuffer asByteBuffer() {
        if (lengthBytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a ByteBuffer cannot hold " + lengthBytes + " bytes");
        }
        return RawMemory.wrap(address, (int) lengthBytes);
    }

    private long checked(long offset, long length) {
        Objects.checkFromIndexSize(offset, length, lengthBytes);
        return address + offset;
    }
}
