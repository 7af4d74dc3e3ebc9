// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.MemoryIO;
import java.util.Objects;

/**
 * A zeroed block of memory outside the heap, aligned to 64 bytes, for structs that C reads and writes; {@link
 * #ofPages} is for memory that a device reads and writes.
 *
 * <p>Offsets are checked: outside the block they throw {@link IndexOutOfBoundsException}, after {@link #close()} every
 * method but close throws {@link IllegalStateException}. Integers are in native order, which is little-endian here.
 *
 * <p><b>Threading:</b> not thread-safe. Owner and users agree when it is closed: the checks do not protect against a
 * concurrent close, and memory in use by a NIC must not be freed.
 *
 * <p><b>Ownership:</b> the allocator closes it; close is idempotent.
 */
public final class NativeBuffer implements AutoCloseable {
    /** A cache line of x86-64 and aarch64; more than any struct of verbs asks for. */
    public static final int ALIGNMENT_BYTES = 64;

    private static final MemoryIO IO = MemoryIO.getInstance();

    private final long lengthBytes;
    private final long address;
    /** Length of a mapping that close unmaps; 0 for memory of malloc. */
    private final long mappedBytes;

    private long allocation;

    /**
     * Allocates.
     *
     * @param lengthBytes at least 1
     * @throws OutOfMemoryError when the C library has no memory
     */
    public NativeBuffer(long lengthBytes) {
        if (lengthBytes < 1 || lengthBytes > Long.MAX_VALUE - ALIGNMENT_BYTES) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes: must be positive");
        }
        this.lengthBytes = lengthBytes;
        allocation = IO.allocateMemory(lengthBytes + ALIGNMENT_BYTES - 1, false);
        if (allocation == 0) {
            throw new OutOfMemoryError("no native memory for " + lengthBytes + " bytes");
        }
        address = (allocation + ALIGNMENT_BYTES - 1) & -ALIGNMENT_BYTES;
        RawMemory.clear(address, lengthBytes);
        mappedBytes = 0;
    }

    private NativeBuffer(long lengthBytes, long mapping, long mappedBytes) {
        this.lengthBytes = lengthBytes;
        this.address = mapping;
        this.mappedBytes = mappedBytes;
        this.allocation = mapping;
    }

    /**
     * Allocates; the same as the constructor.
     *
     * @param lengthBytes at least 1
     * @return the block, which the caller closes
     */
    public static NativeBuffer allocate(long lengthBytes) {
        return new NativeBuffer(lengthBytes);
    }

    /**
     * Allocates whole pages that no other allocation is on, for memory that is registered with a device.
     *
     * <p>A process that calls fork(2) shares its private pages with the child until one of them writes: the writer then
     * gets a copy, and the device goes on with the other page. Pages of a shared mapping are never copied. They count
     * as shared memory, also against a container's limit, and not against the size of {@code /dev/shm}.
     *
     * @param lengthBytes at least 1
     * @return the block, aligned to a page, which the caller closes
     * @throws NativeException ENOMEM: no address space, or a limit of the process
     */
    public static NativeBuffer ofPages(long lengthBytes) {
        LibC libc = LibC.load();
        int pageBytes = libc.getpagesize();
        if (lengthBytes < 1 || lengthBytes > Long.MAX_VALUE - pageBytes) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes: must be positive");
        }
        long mappedBytes = (lengthBytes + pageBytes - 1) & -pageBytes;
        long mapping = LibC.mapShared(mappedBytes);
        if (mapping == LibC.MAP_FAILED) {
            throw new NativeException("mmap(length=" + mappedBytes + ", MAP_SHARED)", NativeException.lastErrno(), "");
        }
        return new NativeBuffer(lengthBytes, mapping, mappedBytes);
    }

    /** {@return the address of the first byte; valid until close} */
    public long address() {
        checkOpen();
        return address;
    }

    /**
     * {@return the address of a byte inside the block; valid until close}
     *
     * @param offset from the start of the block, in bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public long address(long offset) {
        return at(offset, 1);
    }

    /** {@return the length that was asked for, also after close} */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** {@return whether the memory was freed} */
    public boolean isClosed() {
        return allocation == 0;
    }

    /**
     * {@return the byte at an offset}
     *
     * @param offset from the start of the block, in bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public byte getByte(long offset) {
        return RawMemory.getByte(at(offset, Byte.BYTES));
    }

    /**
     * Writes a byte.
     *
     * @param offset from the start of the block, in bytes
     * @param value the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void putByte(long offset, byte value) {
        RawMemory.putByte(at(offset, Byte.BYTES), value);
    }

    /**
     * {@return the 2 bytes at an offset, in native order; need not be aligned}
     *
     * @param offset from the start of the block, in bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public short getShort(long offset) {
        return RawMemory.getShort(at(offset, Short.BYTES));
    }

    /**
     * Writes 2 bytes in native order; need not be aligned.
     *
     * @param offset from the start of the block, in bytes
     * @param value the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void putShort(long offset, short value) {
        RawMemory.putShort(at(offset, Short.BYTES), value);
    }

    /**
     * {@return the 4 bytes at an offset, in native order; need not be aligned}
     *
     * @param offset from the start of the block, in bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public int getInt(long offset) {
        return RawMemory.getInt(at(offset, Integer.BYTES));
    }

    /**
     * Writes 4 bytes in native order; need not be aligned.
     *
     * @param offset from the start of the block, in bytes
     * @param value the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void putInt(long offset, int value) {
        RawMemory.putInt(at(offset, Integer.BYTES), value);
    }

    /**
     * {@return the 8 bytes at an offset, in native order; need not be aligned}
     *
     * @param offset from the start of the block, in bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public long getLong(long offset) {
        return RawMemory.getLong(at(offset, Long.BYTES));
    }

    /**
     * Writes 8 bytes in native order; need not be aligned.
     *
     * @param offset from the start of the block, in bytes
     * @param value the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void putLong(long offset, long value) {
        RawMemory.putLong(at(offset, Long.BYTES), value);
    }

    /**
     * Copies bytes out of the block.
     *
     * @param offset from the start of the block, in bytes
     * @param target array that is written
     * @param targetOffset first index that is written
     * @param length bytes
     * @throws IndexOutOfBoundsException if either range is not inside
     */
    public void getBytes(long offset, byte[] target, int targetOffset, int length) {
        Objects.checkFromIndexSize(targetOffset, length, target.length);
        RawMemory.getBytes(at(offset, length), target, targetOffset, length);
    }

    /**
     * Copies bytes into the block.
     *
     * @param offset from the start of the block, in bytes
     * @param source array that is read
     * @param sourceOffset first index that is read
     * @param length bytes
     * @throws IndexOutOfBoundsException if either range is not inside
     */
    public void putBytes(long offset, byte[] source, int sourceOffset, int length) {
        Objects.checkFromIndexSize(sourceOffset, length, source.length);
        RawMemory.putBytes(at(offset, length), source, sourceOffset, length);
    }

    /** Sets the whole block to zero. */
    public void clear() {
        clear(0, lengthBytes);
    }

    /**
     * Sets a range to zero.
     *
     * @param offset from the start of the block, in bytes
     * @param length bytes
     * @throws IndexOutOfBoundsException if it is not inside
     */
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
            if (mappedBytes > 0) {
                LibC.load().munmap(freed, mappedBytes);
            } else {
                IO.freeMemory(freed);
            }
        }
    }
}
