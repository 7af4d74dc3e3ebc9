// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import io.rdmashuffle.memory.RegionListener;
import io.rdmashuffle.memory.disk.TieredPool;

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
     * Lets peers read the disk tier of this process too, where that needs memory of the pool; called once, after the
     * pool's first region has been registered.
     */
    void serve(TieredPool pool);

    /**
     * Returns what a peer needs to reach this process, in this provider's own format, versioned, at most 4 KiB.
     *
     * <p>Called after the pool's first region has been registered.
     */
    byte[] localAddress();

    /**
     * Prepares to read from a peer; may be lazy, so that a first read can still fail.
     *
     * @param peerId for messages and threads
     * @param address what the peer's fabric of the same name announced
     * @throws PeerUnreachableException if this fabric cannot reach that address; the message says why, for the user
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

    /** Lets a process read here that has announced itself, also if it was revoked before; returns at once. */
    void admit(byte[] address);

    /** Returns whether some of what is read is copied into memory of this process, rather than used where it lies. */
    boolean copies();

    /** Returns whether this process brings what peers read of its disk tier into its pool first. */
    default boolean stages() {
        return false;
    }

    /** Returns how many times over the pages of each region are pinned, and charged to the limit of locked memory. */
    default int pinnings() {
        return 0;
    }

    /** Returns how many regions were registered since the start. */
    long registrations();

    /** Returns what reads have cost since the start. */
    FabricWork work();

    /** Returns what is under way, and what has gone wrong since the start. */
    default FabricLoad load() {
        return FabricLoad.NONE;
    }

    /** Returns how long reads that a device has done took, from when they were handed over until their last byte. */
    default Latencies readLatencies() {
        return Latencies.NONE;
    }

    /** Fails what is outstanding, then ends threads and releases the device; idempotent. */
    @Override
    void close();
}
