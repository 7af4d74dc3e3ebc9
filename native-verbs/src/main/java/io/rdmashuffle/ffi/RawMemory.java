package io.rdmashuffle.ffi;

import com.kenai.jffi.MemoryIO;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Loads and stores at plain addresses, without any check.
 *
 * <p>All integers are little-endian, as the machines that this project supports are; {@link #requireLittleEndian()} says
 * so at start. Callers keep the address mapped during the call: an unmapped address ends the virtual machine. Checked
 * access with bounds is {@code io.rdmashuffle.memory.MemorySlice}.
 *
 * <p><b>Threading:</b> thread-safe; plain accesses, ordered by whoever needs order.
 */
public final class RawMemory {
    private static final MemoryIO IO = MemoryIO.getInstance();

    private RawMemory() {}

    /** Throws if this machine is big-endian: directory and index in registered memory are little-endian. */
    public static void requireLittleEndian() {
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            throw new UnsupportedOperationException("the byte order of this machine is " + ByteOrder.nativeOrder()
                    + "; only little-endian is supported");
        }
    }

    public static byte getByte(long address) {
        return IO.getByte(address);
    }

    public static short getShort(long address) {
        return IO.getShort(address);
    }

    public static int getInt(long address) {
        return IO.getInt(address);
    }

    public static long getLong(long address) {
        return IO.getLong(address);
    }

    public static void putByte(long address, byte value) {
        IO.putByte(address, value);
    }

    public static void putShort(long address, short value) {
        IO.putShort(address, value);
    }

    public static void putInt(long address, int value) {
        IO.putInt(address, value);
    }

    public static void putLong(long address, long value) {
        IO.putLong(address, value);
    }

    /** Copies {@code length} bytes into {@code target[offset..]}. */
    public static void getBytes(long address, byte[] target, int offset, int length) {
        ArrayCopy.fromMemory(address, target, offset, length);
    }

    /** Copies {@code source[offset..offset+length)} to the address. */
    public static void putBytes(long address, byte[] source, int offset, int length) {
        ArrayCopy.toMemory(address, source, offset, length);
    }

    /** Copies {@code length} bytes between two ranges that do not overlap. */
    public static void copy(long source, long target, long length) {
        IO.copyMemory(source, target, length);
    }

    /** Sets {@code length} bytes to zero. */
    public static void clear(long address, long length) {
        IO.setMemory(address, length, (byte) 0);
    }

    /**
     * Wraps memory as a direct buffer in native order, without a copy and without ownership: the buffer must not outlive
     * the memory.
     */
    public static ByteBuffer wrap(long address, int length) {
        return IO.newDirectByteBuffer(address, length).order(ByteOrder.nativeOrder());
    }
}
