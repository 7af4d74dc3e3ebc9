// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Mapping;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.PeerFile;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A process on this host whose regions are mapped here on first use.
 *
 * <p><b>Threading:</b> thread-safe; mapping a region holds the peer's lock, views of mapped ones too, briefly.
 *
 * <p><b>Ownership:</b> owns one mapping per region used; closing gives them up, and the last open view unmaps.
 */
final class ShmPeer implements Peer {
    private final String peerId;
    private final ShmAddress address;
    private final CopyThreads copyThreads;
    private final boolean inPlace;
    private final Map<Integer, Mapping> mappings = new HashMap<>();
    private boolean closed;

    ShmPeer(String peerId, ShmAddress address, CopyThreads copyThreads, boolean inPlace) {
        this.peerId = peerId;
        this.address = address;
        this.copyThreads = copyThreads;
        this.inPlace = inPlace;
    }

    @Override
    public boolean read(ReadBatch batch) {
        return copyThreads.submit(batch, this::open);
    }

    @Override
    public @Nullable RemoteView view(RemoteSlice slice) throws ReadFailedException {
        return inPlace ? open(slice) : null;
    }

    @Override
    public @Nullable RemoteView region(int regionId) throws ReadFailedException {
        if (!inPlace) {
            return null;
        }
        Mapping mapping = retained(regionId);
        return new MappedView(mapping.memory(), mapping);
    }

    @Override
    public synchronized int openRegions() {
        return mappings.size();
    }

    @Override
    public synchronized void releaseRegions() {
        mappings.values().forEach(Mapping::close);
        mappings.clear();
    }

    @Override
    public synchronized void close() {
        closed = true;
        releaseRegions();
    }

    /** Maps what the slice needs and holds it until the view is closed. */
    private RemoteView open(RemoteSlice slice) throws ReadFailedException {
        Mapping mapping = retained(slice.regionId());
        try {
            return new MappedView(mapping.memory().slice(slice.offset(), slice.lengthBytes()), mapping);
        } catch (IndexOutOfBoundsException e) {
            mapping.release();
            throw new ReadFailedException(
                    Reason.OUT_OF_BOUNDS,
                    slice + " is outside the region of " + mapping.memory().lengthBytes() + " bytes of executor "
                            + peerId,
                    e);
        }
    }

    private synchronized Mapping retained(int regionId) throws ReadFailedException {
        if (closed) {
            throw new ReadFailedException(Reason.CLOSED, "the connection to executor " + peerId + " is closed");
        }
        Mapping mapping = mappings.get(regionId);
        if (mapping == null) {
            mapping = map(regionId);
            mappings.put(regionId, mapping);
        }
        if (!mapping.retain()) {
            throw new IllegalStateException("mapping of an open peer is gone");
        }
        return mapping;
    }

    private Mapping map(int regionId) throws ReadFailedException {
        try {
            return PeerFile.map(address.file(regionId));
        } catch (IOException | NativeException e) {
            throw new ReadFailedException(
                    Reason.PEER_GONE, "cannot map region " + regionId + " of executor " + peerId, e);
        }
    }

    private record MappedView(MemorySlice memory, Mapping mapping) implements RemoteView {
        @Override
        public void close() {
            mapping.release();
        }
    }
}
