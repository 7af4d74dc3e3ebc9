package io.rdmashuffle.ffi;

import com.kenai.jffi.MemoryIO;
import java.util.Objects;

/**
 * A zeroed block of memory outside the heap, aligned to 64 bytes, for structs that C reads and writes.
 *
 * <p>Offsets are checked: outside the block they throw {@link IndexOutOfBoundsException}, after {@link #close()} every
 * method but close throws {@link IllegalStateException}. Integers are in native order, which is little-endian here.
 *
 * <p><b>Threading:</b> none of its own. Owner and users agree who closes it, and when: a check cannot help against
 * a close at the same moment, and memory in use by a NIC must not be freed.
 *
 * <p><b>Ownership:</b> whoever allocates closes. Closing twice is allowed.
 */
public final class NativeBuffer implements AutoCloseable {
    /** A cache line of x86-64 and aarch64; more than any struct of verbs asks for. */
    public static final int ALIGNMENT_BYTES = 64;

    private static final MemoryIO IO = MemoryIO.getInstance();

    private final long lengthBytes;
    private final long address;
    private long allocation;

    /**
     * Allocates.
     *
     * @param lengthBytes at least 1
     * @throws OutOfMemoryError when the C library has none
     */
    public NativeBuffer(long lengthBytes) {
        if (lengthBytes < 1 || lengthBytes > Long.MAX_VALUE - ALIGNMENT_BYTES) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes: must be positive");
        }
        this.lengthBytes = lengthBytes;
        allocation = IO.allocateMemory(lengthBytes + ALIGNMENT_BYTES - 1, true);
        if (allocation == 0) {
            throw new OutOfMemoryError("no native memory for " + lengthBytes + " bytes");
        }
        address = (allocation + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
    }

    /** Allocates; the same as the constructor. */
    public static NativeBuffer allocate(long lengthBytes) {
        return new NativeBuffer(lengthBytes);
    }

    /** Returns where the block starts; valid until close. */
    public long address() {
        checkOpen();
        return address;
    }

    /** Returns the address of a byte inside the block. */
    public long address(long offset) {
        return at(offset, 1);
    }

    public long lengthBytes() {
        return lengthBytes;
    }

    public boolean isClosed() {
        return allocation == 0;
    }

    public byte getByte(long offset) {
        return RawMemory.getByte(at(offset, Byte.BYTES));
    }

    public void putByte(long offset, byte value) {
        RawMemory.putByte(at(offset, Byte.BYTES), value);
    }

    public short getShort(long offset) {
        return RawMemory.getShort(at(offset, Short.BYTES));
    }

    public void putShort(long offset, short value) {
        RawMemory.putShort(at(offset, Short.BYTES), value);
    }

    public int getInt(long offset) {
        return RawMemory.getInt(at(offset, Integer.BYTES));
    }

    public void putInt(long offset, int value) {
        RawMemory.putInt(at(offset, Integer.BYTES), value);
    }

    public long getLong(long offset) {
        return RawMemory.getLong(at(offset, Long.BYTES));
    }

    public void putLong(long offset, long value) {
        RawMemory.putLong(at(offset, Long.BYTES), value);
    }

    /** Copies {@code length} bytes into {@code target[targetOffset..]}. */
    public void getBytes(long offset, byte[] target, int targetOffset, int length) {
        Objects.checkFromIndexSize(targetOffset, length, target.length);
        RawMemory.getBytes(at(offset, length), target, targetOffset, length);
    }

    /** Copies {@code source[sourceOffset..sourceOffset+length)} into the block. */
    public void putBytes(long offset, byte[] source, int sourceOffset, int length) {
        Objects.checkFromIndexSize(sourceOffset, length, source.length);
        RawMemory.putBytes(at(offset, length), source, sourceOffset, length);
    }

    /** Sets the whole block to zero. */
    public void clear() {
        clear(0, lengthBytes);
    }

    /** Sets a range to zero. */
    public void clear(long offset, long length) {
        RawMemory.clear(at(offset, length), length);
    }

    private long at(long offset, long length) {
        checkOpen();
        return address + Objects.checkFromIndexSize(offset, length, lengthBytes);
    }

    private void checkOpen() {
        if (allocation == 0) {
            throw new IllegalStateException("native buffer of " + lengthBytes + " bytes is closed");
        }
    }

    @Override
    public void close() {
        long freed = allocation;
        if (freed != 0) {
            allocation = 0;
            IO.freeMemory(freed);
        }
    }
}
