// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Registered memory of this process, which peers reach by its {@linkplain #describe() description}: allocated with the
 * region, or the caller's own.
 *
 * <p><b>Threading:</b> any thread may use and close it; accesses to the bytes are not ordered.
 *
 * <p><b>Ownership:</b> the caller of {@link RdmaEndpoint#allocate} or {@link RdmaEndpoint#register} closes it; closing
 * the endpoint closes the rest. An operation in flight keeps it open: {@link #close()} then throws and changes nothing.
 * Closing revokes the rkey, so that later requests of peers fail with REMOTE_ACCESS_ERROR. Then it frees memory that
 * was allocated with the region, releases a caller's buffer, and leaves memory registered by address to its owner, who
 * must keep it mapped until then.
 */
public final class LocalRegion implements AutoCloseable {
    private static final Set<Access> WRITING =
            EnumSet.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC);
    private static final int CLOSED = Integer.MIN_VALUE;
    private static final long PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
    private static final long CLOSE_TIMEOUT_SECONDS = 10;

    private final MemoryRegion registration;
    private final Set<Access> rights;
    private final boolean readOnly;
    private final Consumer<LocalRegion> onClose;
    /** Allocated with the region; null if the memory is the caller's. */
    private final @Nullable NativeBuffer allocated;
    /** Reachable until the device has released its memory. */
    private volatile @Nullable ByteBuffer buffer;
    /** Accesses and operations going on; CLOSED once closed. */
    private final AtomicInteger uses = new AtomicInteger();

    private LocalRegion(
            MemoryRegion registration,
            Set<Access> rights,
            @Nullable NativeBuffer allocated,
            @Nullable ByteBuffer buffer,
            Consumer<LocalRegion> onClose) {
        this.registration = registration;
        this.rights = Set.copyOf(rights);
        this.allocated = allocated;
        this.buffer = buffer;
        this.readOnly = buffer != null && buffer.isReadOnly();
        this.onClose = onClose;
    }

    /** Registers memory that lives as long as the region. */
    static LocalRegion allocate(
            ProtectionDomain domain, long lengthBytes, Set<Access> rights, Consumer<LocalRegion> onClose) {
        NativeBuffer memory = NativeBuffer.ofPages(lengthBytes);
        try {
            MemoryRegion registration = domain.registerMemory(memory.address(), lengthBytes, rights);
            return new LocalRegion(registration, rights, memory, null, onClose);
        } catch (RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    /** Registers what a buffer has from its position to its limit. */
    static LocalRegion over(
            ProtectionDomain domain, ByteBuffer buffer, Set<Access> rights, Consumer<LocalRegion> onClose) {
        long address = RawMemory.addressOf(buffer) + buffer.position();
        if (!buffer.hasRemaining()) {
            throw new IllegalArgumentException(buffer + " has nothing between position and limit");
        }
        if (buffer.isReadOnly() && WRITING.stream().anyMatch(rights::contains)) {
            throw new IllegalArgumentException("a read-only buffer with rights " + rights + ": none of " + WRITING);
        }
        MemoryRegion registration = domain.registerMemory(address, buffer.remaining(), rights);
        return new LocalRegion(registration, rights, null, buffer, onClose);
    }

    /** Registers memory that the caller keeps mapped. */
    static LocalRegion at(
            ProtectionDomain domain,
            long address,
            long lengthBytes,
            Set<Access> rights,
            Consumer<LocalRegion> onClose) {
        if (lengthBytes < 1) {
            throw new IllegalArgumentException("length of " + lengthBytes + " bytes: must be positive");
        }
        return new LocalRegion(domain.registerMemory(address, lengthBytes, rights), rights, null, null, onClose);
    }

    /** {@return the length that was allocated or registered, also after close} */
    public long lengthBytes() {
        return registration.lengthBytes();
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
     * @throws UnsupportedOperationException if the region lies over a read-only buffer
     */
    public void put(long offset, byte[] bytes) {
        retain();
        try {
            RawMemory.putBytes(writable(offset, bytes.length), bytes, 0, bytes.length);
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
            RawMemory.getBytes(at(offset, length), bytes, 0, length);
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
     * @throws UnsupportedOperationException if the region lies over a read-only buffer
     */
    public void putLong(long offset, long value) {
        retain();
        try {
            RawMemory.putLong(writable(offset, Long.BYTES), value);
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
            return RawMemory.getLong(at(offset, Long.BYTES));
        } finally {
            release();
        }
    }

    /** Returns the address of a range; the caller holds a {@link #retain()}. */
    private long at(long offset, long length) {
        return registration.address() + Objects.checkFromIndexSize(offset, length, lengthBytes());
    }

    private long writable(long offset, long length) {
        if (readOnly) {
            throw new UnsupportedOperationException("region of " + lengthBytes() + " bytes over a read-only buffer");
        }
        return at(offset, length);
    }

    /** Throws if the device may not write here for requests of this process, such as this one. */
    void requireLocalWrite(Work work) {
        if (!rights.contains(Access.LOCAL_WRITE)) {
            throw new IllegalArgumentException(
                    work + ": the region has the rights " + rights + " and needs LOCAL_WRITE");
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
        return registration.address() + offset;
    }

    int localKey() {
        return registration.localKey();
    }

    /** Returns whether the region belongs to a protection domain, without which the device would refuse it. */
    boolean isOf(ProtectionDomain domain) {
        return registration.domain() == domain;
    }

    /**
     * Revokes the rkey, and frees the memory if it was allocated with the region; idempotent.
     *
     * @throws IllegalStateException while operations use the region
     */
    @Override
    public void close() {
        int before = uses.compareAndExchange(0, CLOSED);
        if (before > 0) {
            throw new IllegalStateException("region of " + lengthBytes() + " bytes is in use by " + before
                    + " operations; wait until they have ended, or close the connection first");
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

    /** Frees the memory only after the device has released it; if that fails, it is kept. */
    private void free() {
        try {
            registration.close();
        } finally {
            Reference.reachabilityFence(buffer);
        }
        if (allocated != null) {
            allocated.close();
        }
        buffer = null;
        onClose.accept(this);
    }
}
