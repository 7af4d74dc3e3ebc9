// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.SendRequests;
import io.rdmashuffle.verbs.WorkCompletions;
import java.util.Objects;

/**
 * A fetch-and-add or compare-and-swap, with the value that was there before.
 *
 * <p><b>Ownership:</b> the scratch region is the connection's, and open as long as anything is posted to it.
 */
final class Atomic extends Work {
    private final boolean swaps;
    private final LocalRegion scratch;
    private final RemoteRegion remote;
    private long remoteOffset;
    private long addendOrExpected;
    private long desired;
    private long before;

    private Atomic(boolean swaps, LocalRegion scratch, RemoteRegion remote) {
        this.swaps = swaps;
        this.scratch = scratch;
        this.remote = remote;
    }

    /**
     * Describes an addition to the first 8 bytes of a region.
     *
     * @param scratch has 8 bytes at its start for each slot
     * @param remote at least 8 bytes, aligned to 8
     */
    static Atomic fetchAndAdd(LocalRegion scratch, RemoteRegion remote, long addend) {
        Atomic atomic = new Atomic(false, scratch, remote);
        atomic.addendOrExpected = addend;
        return atomic;
    }

    /** Describes a swap of the first 8 bytes of a region, as {@link #fetchAndAdd}. */
    static Atomic compareAndSwap(LocalRegion scratch, RemoteRegion remote, long expected, long desired) {
        Atomic atomic = new Atomic(true, scratch, remote);
        atomic.expect(expected, desired);
        return atomic;
    }

    /** Returns whether it is a compare-and-swap. */
    boolean swaps() {
        return swaps;
    }

    /** Sets the expected and the new value of the next compare-and-swap. */
    void expect(long expected, long value) {
        addendOrExpected = expected;
        desired = value;
    }

    @Override
    void retain() {}

    @Override
    void release() {}

    @Override
    void add(SendRequests chain, long workRequestId, int slot) {
        long local = scratch.address((long) slot * Long.BYTES);
        long address = remote.address() + remoteOffset;
        if (swaps) {
            chain.compareAndSwap(
                    workRequestId, local, scratch.localKey(), address, remote.remoteKey(), addendOrExpected, desired);
        } else {
            chain.fetchAndAdd(workRequestId, local, scratch.localKey(), address, remote.remoteKey(), addendOrExpected);
        }
    }

    @Override
    void takeResult(WorkCompletions completions, int index, int slot) {
        before = scratch.getLong((long) slot * Long.BYTES);
    }

    /** Returns the value that was there before. */
    long before() {
        return before;
    }

    @Override
    void move(long localOffset, long toRemote, int lengthBytes) {
        Objects.checkFromIndexSize(localOffset, 0, 0);
        Objects.checkFromIndexSize(toRemote, Long.BYTES, remote.lengthBytes());
        if (lengthBytes != Long.BYTES || toRemote % Long.BYTES != 0) {
            throw new IllegalArgumentException("atomic on " + lengthBytes + " bytes at offset " + toRemote + " of "
                    + remote + ": must be 8 bytes, aligned to 8");
        }
        remoteOffset = toRemote;
    }

    @Override
    int lengthBytes() {
        return Long.BYTES;
    }

    @Override
    public String toString() {
        return (swaps ? "COMPARE_AND_SWAP at " : "FETCH_AND_ADD at ") + remote.slice(remoteOffset, Long.BYTES);
    }
}
