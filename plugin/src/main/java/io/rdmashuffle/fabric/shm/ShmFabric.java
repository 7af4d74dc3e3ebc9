// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricLoad;
import io.rdmashuffle.fabric.FabricWork;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.disk.DiskTier;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fabric over shared memory, for processes on the same host.
 *
 * <p><b>Threading:</b> thread-safe. Copies run on the threads of {@link CopyThreads}; views need none.
 *
 * <p><b>Ownership:</b> owns the copy threads; peers own their mappings.
 */
public final class ShmFabric implements Fabric {
    /** The name under which addresses are announced. */
    public static final String NAME = "shm";

    private static final Logger LOG = LoggerFactory.getLogger(ShmFabric.class);

    private final boolean inPlace;
    private final @Nullable DiskTier disk;
    private final CopyThreads copyThreads;
    private final UUID bootId = ShmAddress.currentBootId();
    private final AtomicLong registrations = new AtomicLong();
    private volatile @Nullable ShmAddress localAddress;

    /**
     * Creates the fabric.
     *
     * @param threads how many threads copy
     * @param maxBytesInFlight bound on bytes being copied at once
     * @param inPlace whether {@link Peer#view} hands out mappings, or every byte is copied
     */
    public ShmFabric(int threads, long maxBytesInFlight, boolean inPlace) {
        this(threads, maxBytesInFlight, inPlace, null);
    }

    /**
     * Creates the fabric of a process that has a disk tier.
     *
     * @param disk whose files peers may read; null if there is none
     */
    public ShmFabric(int threads, long maxBytesInFlight, boolean inPlace, @Nullable DiskTier disk) {
        this.inPlace = inPlace;
        this.disk = disk;
        this.copyThreads = new CopyThreads(threads, maxBytesInFlight);
    }

    @Override
    public String name() {
        return NAME;
    }

    /** A file in shared memory needs no registration; the first one becomes this process's address. */
    @Override
    public void regionAdded(Region region) {
        registrations.incrementAndGet();
        if (region.id() == 0) {
            localAddress = ShmAddress.of(region);
        }
    }

    /** Does nothing: peers open the files of the disk tier themselves. */
    @Override
    public void serve(TieredPool pool) {}

    @Override
    public byte[] localAddress() {
        ShmAddress address = localAddress;
        if (address == null) {
            throw new IllegalStateException("no region has been registered yet");
        }
        return disk == null ? address.encode() : withDisk(address, disk).encode();
    }

    private static ShmAddress withDisk(ShmAddress address, DiskTier disk) {
        try {
            ShmAddress complete = address.with(ShmDisk.of(disk));
            if (complete.disk().directories().size() < disk.directories().size()) {
                LOG.info(
                        "Peers of this host read the disk tier over Spark's block transfer: the paths of {} local"
                                + " directories are too long to announce (spark.local.dir)",
                        disk.directories().size());
            }
            return complete;
        } catch (IOException e) {
            LOG.warn("Peers of this host read the disk tier over Spark's block transfer", e);
            return address;
        }
    }

    /**
     * Names the memory that a pool is part of: processes whose addresses name the same can map each other's pools. An
     * address that cannot be read names none.
     */
    public static Optional<String> memoryOf(byte[] address) {
        try {
            ShmAddress known = ShmAddress.decode(address);
            return Optional.of(known.bootId() + "/" + known.files().region0().device());
        } catch (PeerUnreachableException e) {
            LOG.debug("An address that names no memory", e);
            return Optional.empty();
        }
    }

    @Override
    public Peer connect(String peerId, byte[] address) throws PeerUnreachableException {
        return new ShmPeer(peerId, proven(peerId, address), copyThreads, inPlace);
    }

    @Override
    public EndedPool open(String peerId, byte[] address) throws PeerUnreachableException {
        ShmAddress ended = proven(peerId, address);
        if (!ended.disk().directories().isEmpty() && !ended.disk().isVisible()) {
            throw new PeerUnreachableException("the local directories of executor " + peerId + " are not visible");
        }
        try {
            return EndedPool.open(ended.files(), ended.disk()::file);
        } catch (IOException | NativeException e) {
            throw new PeerUnreachableException("cannot open the pool of executor " + peerId + ": " + e.getMessage(), e);
        }
    }

    /** Returns an address whose first region this process sees. */
    private ShmAddress proven(String peerId, byte[] address) throws PeerUnreachableException {
        ShmAddress remote = ShmAddress.decode(address);
        if (!remote.bootId().equals(bootId)) {
            throw new PeerUnreachableException("executor " + peerId + " runs on another host");
        }
        try {
            remote.files().proveFirst();
            return remote;
        } catch (NoSuchFileException e) {
            throw new PeerUnreachableException(
                    "executor " + peerId + " is gone, or its " + remote.files().directory()
                            + " is on a mount not shared with us",
                    e);
        } catch (IOException e) {
            throw new PeerUnreachableException(
                    "cannot map the pool of executor " + peerId + ": " + e.getMessage()
                            + "; containers on one host need a common mount for shared memory",
                    e);
        }
    }

    /**
     * Does nothing: peers map files of this process, and the kernel cannot revoke mappings. They are processes of the
     * same host and user; the files are removed with this process.
     */
    @Override
    public void revoke(byte[] address) {}

    /** Does nothing, since nothing is revoked. */
    @Override
    public void admit(byte[] address) {}

    @Override
    public boolean copies() {
        return !inPlace;
    }

    @Override
    public long registrations() {
        return registrations.get();
    }

    /** {@inheritDoc} There is no device. */
    @Override
    public FabricWork work() {
        return FabricWork.NONE;
    }

    @Override
    public FabricLoad load() {
        return new FabricLoad(0, copyThreads.bytesInFlight(), 0, 0, 0, 0, 0, 0);
    }

    @Override
    public void close() {
        copyThreads.close();
    }
}
