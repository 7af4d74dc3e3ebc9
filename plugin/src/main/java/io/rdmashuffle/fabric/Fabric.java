// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.disk.TieredPool;
import org.jspecify.annotations.Nullable;

/**
 * One way to read the registered memory of other processes.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the creator of a fabric closes it, after the peers that came from it and before the pool whose
 * regions it registered.
 */
public interface Fabric extends RegionListener, AutoCloseable {
    /** Returns the short name under which addresses are announced: {@code shm}, {@code verbs}, {@code tcp}. */
    String name();

    /**
     * Opens the disk tier of this process to peers, where that needs memory of the pool; called once, after the
     * pool's first region has been registered.
     */
    void serve(TieredPool pool);

    /**
     * Returns the address of this process for peers, in this provider's own format, versioned, at most 4 KiB.
     *
     * <p>Called after the pool's first region has been registered.
     */
    byte[] localAddress();

    /**
     * Prepares to read from a peer; may be lazy, so that a first read can still fail.
     *
     * @param peerId for messages and threads
     * @param address what the peer's fabric of the same name announced
     * @throws PeerUnreachableException if this fabric cannot reach that address; the message has the reason, for the
     * user
     */
    Peer connect(String peerId, byte[] address) throws PeerUnreachableException;

    /**
     * Ends what a process reads here that has left the membership, and lets it read no more until it is {@link #admit
     * admitted} again; returns at once, and takes effect within a second. Where the kernel shares memory rather than
     * this process serving it, there is nothing to end: such a fabric leaves it to the kernel, and says so.
     *
     * @param address what that process's fabric of the same name announced
     */
    void revoke(byte[] address);

    /** Admits a process that has announced itself, even if it was revoked before; returns at once. */
    void admit(byte[] address);

    /**
     * Opens the pool of a process that has ended, where this fabric reads files rather than a process; null if it does
     * not. The caller closes it.
     *
     * @throws PeerUnreachableException if this process cannot read all of it
     */
    default @Nullable EndedPool open(String peerId, byte[] address) throws PeerUnreachableException {
        return null;
    }

    /**
     * Serves the pool of a process that has ended, until {@link #renounce}; null if this fabric cannot.
     *
     * @param address what that process announced
     * @return the address at which it can be read
     * @throws PeerUnreachableException if the address cannot be read
     */
    default byte @Nullable [] inherit(byte[] address, EndedPool pool) throws PeerUnreachableException {
        return null;
    }

    /** Ends the service of a pool before it is closed; reads that are in flight fail. Returns at once. */
    default void renounce(byte[] address, EndedPool pool) {}

    /** Returns whether some reads copy to memory of this process, rather than use the bytes in place. */
    boolean copies();

    /** Returns whether this process brings what peers read of its disk tier into its pool first. */
    default boolean stages() {
        return false;
    }

    /**
     * Returns the number of times that the pages of each region are pinned, and charged to the limit of locked memory.
     */
    default int pinnings() {
        return 0;
    }

    /** Returns the number of regions registered since the start. */
    long registrations();

    /** Returns the work of reads since the start. */
    FabricWork work();

    /** Returns current reads, and failures since the start. */
    default FabricLoad load() {
        return FabricLoad.NONE;
    }

    /** Returns the latencies of reads by a device, from submission to the last byte. */
    default Latencies readLatencies() {
        return Latencies.NONE;
    }

    /** Fails outstanding reads, then ends threads and releases the device; idempotent. */
    @Override
    void close();
}
