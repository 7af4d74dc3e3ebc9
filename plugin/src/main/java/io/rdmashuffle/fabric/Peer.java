// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import org.jspecify.annotations.Nullable;

/**
 * Another process whose registered memory can be read.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the caller of {@code connect} closes it. Closing fails the reads that are outstanding; views
 * stay valid until they are closed themselves.
 */
public interface Peer extends AutoCloseable {
    /**
     * Starts a read, which completes exactly once, through its listener, on a thread of the fabric or on the caller's.
     * Reads complete in any order. One that exceeds the bound on bytes in flight is started when others have ended.
     *
     * @return whether it was started now; if not, the caller starts no other before this one has completed, so that few
     *     wait
     */
    boolean read(ReadRequest request);

    /**
     * Returns the peer's bytes where they lie, or null if this fabric can only copy them.
     *
     * @throws ReadFailedException if they lie outside the peer's region or the peer is gone
     */
    default @Nullable RemoteView view(RemoteSlice slice) throws ReadFailedException {
        return null;
    }

    /**
     * Returns a whole region where it lies, for readers of many of its slices; null if this fabric can only copy.
     *
     * @throws ReadFailedException if there is no such region or the peer is gone
     */
    default @Nullable RemoteView region(int regionId) throws ReadFailedException {
        return null;
    }

    /**
     * Returns whether slices of the peer's disk tier can be read, too; if not, Spark's block transfer brings the blocks
     * that lie there.
     */
    boolean readsDisk();

    /**
     * Releases opened regions. Views in use keep theirs, and the next read reopens the regions it needs.
     */
    void releaseRegions();

    /**
     * Releases regions that the peer has released, as far as this process can detect them without a query; until then
     * this process keeps their memory. Views in use keep theirs.
     */
    void releaseAbsentRegions();

    /** Returns false if the last attempt to connect failed; true before the first. */
    default boolean isReachable() {
        return true;
    }

    /** Returns the number of the peer's regions that are open (mapped, or known by rkey). */
    int openRegions();

    /** Releases the peer; idempotent. */
    @Override
    void close();
}
