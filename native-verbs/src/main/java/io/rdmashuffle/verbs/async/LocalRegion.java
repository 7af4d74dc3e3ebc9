// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Zeroed, registered memory of this process, which peers reach by its {@linkplain #describe() description}.
 *
 * <p><b>Threading:</b> any thread may use and close it; accesses to the bytes are not ordered.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#allocate} closes it; closing the endpoint closes what is left.
 * An operation in flight keeps it open: {@link #close()} then throws and changes nothing. Closing takes the rkey back,
 * so that later requests of peers fail with REMOTE_ACCESS_ERROR.
 */
public final class LocalRegion implements AutoCloseable {
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long CLOSE_TIMEOUT_SECONDS = 10;

    private final NativeBuffer memory;
    private final MemoryRegion registration;
    private final Consumer<LocalRegion> onClose;
    /** Accesses and operations going on; CLOSED once closed. */
    private final AtomicInteger uses = new AtomicInteger();

    private LocalRegion(NativeBuffer memory, MemoryRegion registration, Consumer<LocalRegion> onClose) {
        this.memory = memory;
        this.registration = registration;
        this.onClose = onClose;
    }

    static LocalRegion allocate(
            ProtectionDomain domain, long lengthBytes, Set<Access> rights, Consumer<LocalRegion> onClose) {
        NativeBuffer memory = new NativeBuffer(lengthBytes);
        try {
            MemoryRegion registration = domain.registerMemory(memory.address(), lengthBytes, rights);
            return new LocalRegion(memory, registration, onClose);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    /** {@return the length that was allocated} */
    public long lengthBytes() {
        return memory.lengthBytes();
    }

    /** {@return what a peer needs to read or write this region} */
    public RemoteRegion describe() {
        return new RemoteRegion(registration.address(), registration.lengthBytes(), registration.remoteKey());
    }

    /**
     * {@return a part, for an operation}
     *
     * @param offset of its first byte
     * @param lengthBytes length
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public LocalSlice slice(long offset, int lengthBytes) {
        return new LocalSlice(this, offset, lengthBytes);
    }

    /**
     * Copies bytes into the region.
     *
     * @param offset of the first byte in the region
     * @param bytes all of them are copied
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void put(long offset, byte[] bytes) {
        retain();
        try {
            memory.putBytes(offset, bytes, 0, bytes.length);
        } finally {
            release();
        }
    }

    /**
     * Copies bytes out of the region.
     *
     * @param offset of the first byte in the region
     * @param length bytes
     * @return a new array
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public byte[] get(long offset, int length) {
        byte[] bytes = new byte[length];
        retain();
        try {
            memory.getBytes(offset, bytes, 0, length);
        } finally {
            release();
        }
        return bytes;
    }

    /**
     * Writes 8 bytes in native order, which is how atomics see them.
     *
     * @param offset of the first byte in the region
     * @param value the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public void putLong(long offset, long value) {
        retain();
        try {
            memory.putLong(offset, value);
        } finally {
            release();
        }
    }

    /**
     * Reads 8 bytes in native order.
     *
     * @param offset of the first byte in the region
     * @return the number
     * @throws IndexOutOfBoundsException if it is not inside
     */
    public long getLong(long offset) {
        retain();
        try {
            return memory.getLong(offset);
        } finally {
            release();
        }
    }

    /** Keeps the region open until {@link #release()}; throws once it is closed. */
    void retain() {
        if (uses.getAndUpdate(count -> count < 0 ? count : count + 1) < 0) {
            throw new IllegalStateException("region of " + lengthBytes() + " bytes is closed");
        }
    }

    void release() {
        uses.decrementAndGet();
    }

    /** Returns the address of a byte; the caller holds a {@link #retain()}. */
    long address(long offset) {
        return memory.address() + offset;
    }

    int localKey() {
        return registration.localKey();
    }

    /** Returns whether the region belongs to a protection domain, without which the device would refuse it. */
    boolean isOf(ProtectionDomain domain) {
        return registration.domain() == domain;
    }

    /**
     * Takes the rkey back and frees the memory; idempotent.
     *
     * @throws IllegalStateException while operations use the region
     */
    @Override
    public void close() {
        int before = uses.compareAndExchange(0, CLOSED);
        if (before > 0) {
            throw new IllegalStateException("region of " + lengthBytes() + " bytes is in use by " + before
                    + " operations; wait for their futures, or close the connection first");
        }
        if (before == 0) {
            free();
        }
    }

    /** Returns until when the end of a connection or endpoint waits for the uses of its regions to end. */
    static long closeDeadline() {
        return System.nanoTime() + TimeUnit.SECONDS.toNanos(CLOSE_TIMEOUT_SECONDS);
    }

    /**
     * Closes once nothing uses the region; for the endpoint, which has ended the operations.
     *
     * @param deadline as {@link System#nanoTime()} has it
     */
    void closeWhenUnused(long deadline) {
        int before;
        while ((before = uses.compareAndExchange(0, CLOSED)) > 0) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("region of " + lengthBytes() + " bytes is still in use after "
                        + CLOSE_TIMEOUT_SECONDS + " s; its memory is kept");
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        if (before == 0) {
            free();
        }
    }

    /** The memory goes only after the device has let go of it: if that fails, it is kept. */
    private void free() {
        registration.close();
        memory.close();
        onClose.accept(this);
    }
}
