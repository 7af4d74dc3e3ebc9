// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.Lease;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Slices of one peer's memory, to be gathered one after another into one lease.
 *
 * <p><b>Threading:</b> completed by exactly one thread; {@link #complete} decides which.
 *
 * <p><b>Ownership:</b> once {@link Peer#read} has returned the target belongs to the fabric. Success returns it to the
 * listener. After a failure the fabric closes it, as soon as nothing can write into it any more: a deadline alone
 * does not end a device's right to write.
 */
public final class ReadRequest {
    private final List<RemoteSlice> sources;
    private final Lease target;
    private final long deadlineNanos;
    private final Listener listener;
    private final long lengthBytes;
    private final AtomicBoolean completed = new AtomicBoolean();

    /** Listener of completed requests: one call for each. Must be quick and must not throw. */
    public interface Listener {
        /** The bytes are in the request's target, which now belongs to the listener. */
        void succeeded(ReadRequest request);

        /** The bytes did not arrive; the fabric keeps the target. */
        void failed(ReadRequest request, ReadFailedException failure);

        /** Returns whether a request that has not been started is still wanted. */
        default boolean isWanted() {
            return true;
        }
    }

    /**
     * Describes a read.
     *
     * @param sources what to read, in order
     * @param deadlineNanos {@link System#nanoTime()} after which it fails if it is not done
     * @param listener notified of the end, once
     * @throws IllegalArgumentException if there are no sources, or the target is shorter than the sources together
     */
    public ReadRequest(List<RemoteSlice> sources, Lease target, long deadlineNanos, Listener listener) {
        this.sources = List.copyOf(sources);
        this.target = target;
        this.deadlineNanos = deadlineNanos;
        this.listener = listener;
        if (this.sources.isEmpty()) {
            throw new IllegalArgumentException("a read of nothing");
        }
        long room = target.lengthBytes();
        for (RemoteSlice source : this.sources) {
            // Not the sum, which may overflow: a device would write past the lease.
            if (source.lengthBytes() > room) {
                throw new IllegalArgumentException(
                        "reading " + this.sources + " into a lease of " + target.lengthBytes() + " bytes");
            }
            room -= source.lengthBytes();
        }
        this.lengthBytes = target.lengthBytes() - room;
    }

    /** Returns the slices to read, in order. */
    public List<RemoteSlice> sources() {
        return sources;
    }

    /** Returns the target. */
    public Lease target() {
        return target;
    }

    /** Returns the {@link System#nanoTime()} after which this fails. */
    public long deadlineNanos() {
        return deadlineNanos;
    }

    /** Returns whether the deadline has passed. */
    public boolean isExpired() {
        return System.nanoTime() - deadlineNanos >= 0;
    }

    /** Returns the listener that is notified of the end. */
    public Listener listener() {
        return listener;
    }

    /** Returns the bytes of all sources. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Claims the right to complete this request; true exactly once. For providers. */
    public boolean complete() {
        return completed.compareAndSet(false, true);
    }
}
