// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import com.kenai.jffi.MemoryIO;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Unchecked loads and stores at plain addresses.
 *
 * <p>Integers are in native order, which is little-endian on the machines that are supported;
 * {@link #requireLittleEndian()} checks that. Callers keep the address mapped during the call: access to an unmapped
 * address crashes the JVM. {@link NativeBuffer} checks bounds.
 *
 * <p><b>Threading:</b> thread-safe; plain accesses, which callers order where that matters.
 */
public final class RawMemory {
    /**
     * Longest run of bytes that one JVM intrinsic copies, fills or checks. An intrinsic has no safepoint poll, so its
     * time is added to every pause of the JVM: 1 MiB takes 0.1 to 0.5 ms, 1 GiB half a second.
     */
    public static final int MAX_PIECE_BYTES = 1 << 20;

    private static final MemoryIO IO = MemoryIO.getInstance();

    private RawMemory() {}

    /** Bulk operation on a part of a range. */
    @FunctionalInterface
    public interface Piece {
        /**
         * Handles a part.
         *
         * @param offset of its first byte in the range
         * @param length bytes
         */
        void handle(long offset, long length);
    }

    /**
     * Splits a range into pieces of at most {@link #MAX_PIECE_BYTES}, in ascending order, between which the JVM can
     * reach a safepoint.
     *
     * @param length bytes of the range; nothing is handled if it is 0
     * @param each called with every piece
     */
    public static void inPieces(long length, Piece each) {
        if (length > 0) {
            inPieces(0, length, each);
        }
    }

    /** Halves the range: a method polls for safepoints as it returns, while HotSpot drops the polls of short loops. */
    private static void inPieces(long offset, long length, Piece each) {
        if (length <= MAX_PIECE_BYTES) {
            each.handle(offset, length);
            return;
        }
        long pieces = (length + MAX_PIECE_BYTES - 1) / MAX_PIECE_BYTES;
        long first = pieces / 2 * MAX_PIECE_BYTES;
        inPieces(offset, first, each);
        inPieces(offset + first, length - first, each);
    }

    /**
     * Checks the byte order of this machine, which readers of little-endian memory depend on.
     *
     * @throws UnsupportedOperationException on a big-endian machine
     */
    public static void requireLittleEndian() {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new UnsupportedOperationException("the byte order of this machine is " + ByteOrder.nativeOrder()
                    + "; only little-endian is supported");
        }
    }

    /**
     * {@return the byte at an address}
     *
     * @param address of 1 byte of mapped memory
     */
    public static byte getByte(long address) {
        return IO.getByte(address);
    }

    /**
     * {@return the 2 bytes at an address, in native order}
     *
     * @param address of 2 bytes of mapped memory
     */
    public static short getShort(long address) {
        return IO.getShort(address);
    }

    /**
     * {@return the 4 bytes at an address, in native order}
     *
     * @param address of 4 bytes of mapped memory
     */
    public static int getInt(long address) {
        return IO.getInt(address);
    }

    /**
     * {@return the 8 bytes at an address, in native order}
     *
     * @param address of 8 bytes of mapped memory
     */
    public static long getLong(long address) {
        return IO.getLong(address);
    }

    /**
     * Writes a byte.
     *
     * @param address of 1 byte of mapped memory
     * @param value the number
     */
    public static void putByte(long address, byte value) {
        IO.putByte(address, value);
    }

    /**
     * Writes 2 bytes in native order.
     *
     * @param address of 2 bytes of mapped memory
     * @param value the number
     */
    public static void putShort(long address, short value) {
        IO.putShort(address, value);
    }

    /**
     * Writes 4 bytes in native order.
     *
     * @param address of 4 bytes of mapped memory
     * @param value the number
     */
    public static void putInt(long address, int value) {
        IO.putInt(address, value);
    }

    /**
     * Writes 8 bytes in native order.
     *
     * @param address of 8 bytes of mapped memory
     * @param value the number
     */
    public static void putLong(long address, long value) {
        IO.putLong(address, value);
    }

    /**
     * Copies memory into an array.
     *
     * @param address of {@code length} bytes of mapped memory
     * @param target array that is written
     * @param offset first index that is written; the range is not checked
     * @param length bytes
     */
    public static void getBytes(long address, byte[] target, int offset, int length) {
        if (length <= MAX_PIECE_BYTES) {
            ArrayCopy.fromMemory(address, target, offset, length);
        } else {
            inPieces(
                    length,
                    (done, bytes) -> ArrayCopy.fromMemory(address + done, target, offset + (int) done, (int) bytes));
        }
    }

    /**
     * Copies bytes of an array to memory.
     *
     * @param address of {@code length} bytes of mapped memory
     * @param source array that is read
     * @param offset first index that is read; the range is not checked
     * @param length bytes
     */
    public static void putBytes(long address, byte[] source, int offset, int length) {
        if (length <= MAX_PIECE_BYTES) {
            ArrayCopy.toMemory(address, source, offset, length);
        } else {
            inPieces(
                    length,
                    (done, bytes) -> ArrayCopy.toMemory(address + done, source, offset + (int) done, (int) bytes));
        }
    }

    /**
     * Copies memory to memory; the ranges must not overlap.
     *
     * @param source address that is read
     * @param target address that is written
     * @param length bytes
     */
    public static void copy(long source, long target, long length) {
        if (length <= MAX_PIECE_BYTES) {
            IO.copyMemory(source, target, length);
        } else {
            inPieces(length, (offset, bytes) -> IO.copyMemory(source + offset, target + offset, bytes));
        }
    }

    /**
     * Sets memory to zero.
     *
     * @param address of {@code length} bytes of mapped memory
     * @param length bytes
     */
    public static void clear(long address, long length) {
        if (length <= MAX_PIECE_BYTES) {
            IO.setMemory(address, length, (byte) 0);
        } else {
            inPieces(length, (offset, bytes) -> IO.setMemory(address + offset, bytes, (byte) 0));
        }
    }

    /**
     * {@return the address of a direct buffer's element 0, whatever its position; valid while the buffer is reachable}
     *
     * @param buffer a direct one
     * @throws IllegalArgumentException if it is not
     */
    public static long addressOf(ByteBuffer buffer) {
        if (!buffer.isDirect()) {
            throw new IllegalArgumentException("a buffer of the heap, which may move: must be a direct one");
        }
        return IO.getDirectBufferAddress(buffer);
    }

    /**
     * Wraps memory as a direct buffer, without a copy and without ownership: the buffer must not outlive the memory.
     *
     * @param address of {@code length} bytes of mapped memory
     * @param length bytes
     * @return a buffer in native order
     */
    public static ByteBuffer wrap(long address, int length) {
        return IO.newDirectByteBuffer(address, length).order(ByteOrder.nativeOrder());
    }
}
