// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * A copy, in an array, of a few bytes of the disk tier: what a reader looks at several times is read once.
 *
 * <p><b>Ownership:</b> owns the array.
 */
final class HeapSlice implements StoredSlice {
    private final ByteBuffer bytes;

    /** Wraps an array. */
    HeapSlice(byte[] bytes) {
        this(ByteBuffer.wrap(bytes));
    }

    private HeapSlice(ByteBuffer bytes) {
        this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public long lengthBytes() {
        return bytes.limit();
    }

    @Override
    public StoredSlice slice(long offset, long length) {
        Objects.checkFromIndexSize(offset, length, lengthBytes());
        return new HeapSlice(bytes.slice((int) offset, (int) length));
    }

    @Override
    public StoredSlice inMemory() {
        return this;
    }

    @Override
    public void getBytes(long offset, byte[] target, int targetOffset, int length) {
        Objects.checkFromIndexSize(offset, length, lengthBytes());
        bytes.get((int) offset, target, targetOffset, length);
    }

    @Override
    public void copyToAddress(long address) {
        byte[] copy = new byte[bytes.limit()];
        bytes.get(0, copy);
        new MemorySlice(address, copy.length).putBytes(0, copy, 0, copy.length);
    }

    @Override
    public int getInt(long offset) {
        return bytes.getInt(Math.toIntExact(offset));
    }

    @Override
    public long getLong(long offset) {
        return bytes.getLong(Math.toIntExact(offset));
    }
}
