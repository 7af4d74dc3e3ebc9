// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.DiskFile;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A process on this host whose regions are mapped here on first use.
 *
 * <p><b>Threading:</b> thread-safe; mapping a region holds the peer's lock, views of mapped ones too, briefly.
 *
 * <p><b>Ownership:</b> owns one mapping or open file per region used; closing gives them up, the last open view lets
 * them go.
 */
final class ShmPeer implements Peer {
    private final String peerId;
    private final ShmAddress address;
    private final CopyThreads copyThreads;
    private final boolean inPlace;
    private final boolean diskVisible;
    private final Map<Integer, MappedRegion> regions = new HashMap<>();
    private boolean closed;

    /** A region that is mapped, or open if it is one of the disk tier. */
    private record MappedRegion(StoredSlice bytes, ReferenceCounted shared) {}

    ShmPeer(String peerId, ShmAddress address, CopyThreads copyThreads, boolean inPlace) {
        this.peerId = peerId;
        this.address = address;
        this.copyThreads = copyThreads;
        this.inPlace = inPlace;
        this.diskVisible = address.disk().isVisible();
    }

    @Override
    public boolean read(ReadRequest request) {
        return copyThreads.submit(request, this::open);
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
        MappedRegion region = retained(regionId);
        return new MappedView(region.bytes(), region.shared());
    }

    @Override
    public boolean readsDisk() {
        return diskVisible;
    }

    @Override
    public synchronized int openRegions() {
        return regions.size();
    }

    @Override
    public synchronized void releaseRegions() {
        regions.values().forEach(region -> region.shared().close());
        regions.clear();
    }

    /**
     * {@inheritDoc} Their files are gone while region 0's file exists; files that another program removed are kept
     * mapped.
     */
    @Override
    public void releaseAbsentRegions() {
        List<Integer> mapped;
        synchronized (this) {
            mapped =
                    regions.keySet().stream().filter(id -> !Region.isOnDisk(id)).toList();
        }
        List<Integer> absent = mapped.stream().filter(this::isAbsent).toList();
        if (!absent.isEmpty()) {
            release(absent);
        }
    }

    private boolean isAbsent(int regionId) {
        return address.files().isReleased(regionId);
    }

    private synchronized void release(List<Integer> regionIds) {
        for (int regionId : regionIds) {
            MappedRegion region = regions.remove(regionId);
            if (region != null) {
                region.shared().close();
            }
        }
    }

    @Override
    public synchronized void close() {
        closed = true;
        releaseRegions();
    }

    /** Maps or opens what the slice needs and holds it until the view is closed. */
    private RemoteView open(RemoteSlice slice) throws ReadFailedException {
        MappedRegion region = retained(slice.regionId());
        try {
            return new MappedView(region.bytes().slice(slice.offset(), slice.lengthBytes()), region.shared());
        } catch (IndexOutOfBoundsException e) {
            region.shared().release();
            throw new ReadFailedException(
                    Reason.OUT_OF_BOUNDS,
                    slice + " is outside the region of " + region.bytes().lengthBytes() + " bytes of executor "
                            + peerId,
                    e);
        }
    }

    private synchronized MappedRegion retained(int regionId) throws ReadFailedException {
        if (closed) {
            throw new ReadFailedException(Reason.CLOSED, "the connection to executor " + peerId + " is closed");
        }
        MappedRegion region = regions.get(regionId);
        if (region == null) {
            region = Region.isOnDisk(regionId) ? openFile(regionId) : map(regionId);
            regions.put(regionId, region);
        }
        if (!region.shared().retain()) {
            throw new IllegalStateException("region of an open peer is gone");
        }
        return region;
    }

    private MappedRegion map(int regionId) throws ReadFailedException {
        try {
            Mapping mapping = address.files().map(regionId);
            return new MappedRegion(mapping.memory(), mapping);
        } catch (IOException | NativeException e) {
            throw new ReadFailedException(
                    isAbsent(regionId) ? Reason.REGION_ABSENT : Reason.PEER_GONE,
                    "cannot map region " + regionId + " of executor " + peerId,
                    e);
        }
    }

    private MappedRegion openFile(int regionId) throws ReadFailedException {
        Path file = address.disk().file(regionId);
        if (file == null) {
            throw new ReadFailedException(
                    Reason.OUT_OF_BOUNDS, "executor " + peerId + " has no region " + regionId + " on disk");
        }
        try {
            DiskFile open = DiskFile.openForReading(file, address.files().uid());
            return new MappedRegion(FileSlice.all(open), open);
        } catch (IOException e) {
            throw new ReadFailedException(
                    Reason.PEER_GONE, "cannot open region " + regionId + " of executor " + peerId, e);
        }
    }

    private record MappedView(StoredSlice bytes, ReferenceCounted shared) implements RemoteView {
        @Override
        public void close() {
            shared.release();
        }
    }
}
