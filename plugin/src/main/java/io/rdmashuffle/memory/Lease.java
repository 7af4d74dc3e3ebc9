// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A range of the pool that belongs to its holder until {@link #close()}.
 *
 * <p><b>Threading:</b> one holder at a time; {@link #close()} may come from any thread, once.
 *
 * <p><b>Ownership:</b> the holder closes it; closing twice throws, because the second close would free bytes of another
 * lease. The region stays mapped for as long as the lease is open, even if the pool is closed meanwhile.
 */
public final class Lease implements AutoCloseable {
    private final Owner owner;
    private final Region region;
    private final long offset;
    private final Purpose purpose;
    private final AtomicBoolean closed = new AtomicBoolean();
    private long lengthBytes;

    /** The pool that a lease is a part of. */
    public interface Owner {
        /** Extends a lease in place by up to {@code bytes}; returns the number of bytes added. */
        long extend(Lease lease, long bytes);

        /** Reclaims the end of a lease. */
        void releaseTail(Lease lease, long offset, long bytes);

        /** Reclaims a lease. */
        void release(Lease lease);

        /** Returns the unit in which leases grow and shrink; a power of two. */
        long granuleBytes();
    }

    public Lease(Owner owner, Region region, long offset, long lengthBytes, Purpose purpose) {
        this.owner = owner;
        this.region = region;
        this.offset = offset;
        this.lengthBytes = lengthBytes;
        this.purpose = purpose;
    }

    /** Returns the region that the lease is part of. */
    public Region region() {
        return region;
    }

    /** Returns the first byte's offset in the region. */
    public long offset() {
        return offset;
    }

    /**
     * Returns the length in bytes, a multiple of the granule of its tier (64 bytes in memory), at least the requested
     * length.
     */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Returns the purpose of the lease. */
    public Purpose purpose() {
        return purpose;
    }

    /** Returns the leased bytes, in memory or on disk; valid until {@link #close()}. */
    public StoredSlice bytes() {
        checkOpen();
        return region.bytes().slice(offset, lengthBytes);
    }

    /**
     * Returns the leased bytes, valid until {@link #close()}.
     *
     * @throws IllegalStateException if they lie on disk
     */
    public MemorySlice memory() {
        checkOpen();
        return region.memory().slice(offset, lengthBytes);
    }

    /**
     * Grows in place if the bytes behind this lease are free.
     *
     * @param bytes how many more would be welcome
     * @return how many were added, whole granules; 0 if none
     */
    public long extend(long bytes) {
        checkOpen();
        long added = owner.extend(this, roundUp(bytes));
        lengthBytes += added;
        return added;
    }

    /** Releases all but the first {@code bytes}, rounded up to a granule. */
    public void trim(long bytes) {
        checkOpen();
        long kept = Math.max(roundUp(bytes), owner.granuleBytes());
        long surplus = lengthBytes - kept;
        if (surplus > 0) {
            lengthBytes = kept;
            owner.releaseTail(this, offset + kept, surplus);
        }
    }

    /** Releases the bytes. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            throw new IllegalStateException("lease for " + purpose + " closed twice");
        }
        owner.release(this);
    }

    private long roundUp(long bytes) {
        return Math.addExact(bytes, owner.granuleBytes() - 1) & -owner.granuleBytes();
    }

    private void checkOpen() {
        if (closed.get()) {
            throw new IllegalStateException("lease for " + purpose + " is closed");
        }
    }
}
