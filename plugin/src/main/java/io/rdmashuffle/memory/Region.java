// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.memory.slice.DiskFile;
import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.Mapping;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.nio.file.Path;

/**
 * One file of the pool: mapped memory, the unit that fabrics register and peers open, or a file of the disk tier.
 *
 * <pre>
 *   0            outputsEnd     metadataEnd    readsStart        length
 *   |  OUTPUTS       |  METADATA    |  STAGING     |    READS      |      all but the first are empty until
 *                                                                         {@link #setAside}
 * </pre>
 *
 * <p><b>Threading:</b> immutable as others see it; its free ranges belong to the lock of its tier.
 *
 * <p><b>Ownership:</b> the memory or disk tier creates and closes it, the disk tier after its last lease is released.
 */
public final class Region {
    /** The least number of a region of the disk tier. */
    public static final int FIRST_ON_DISK = 1 << 24;

    private final int id;
    private final Path file;
    private final StoredSlice bytes;
    private final ReferenceCounted shared;
    private final FreeExtents outputs;
    private FreeExtents metadata;
    private FreeExtents staging;
    private FreeExtents reads;
    private long outputsEnd;
    private long metadataEnd;
    private long readsStart;
    private int leases;
    private long idleSinceNanos;

    private Region(int id, Path file, StoredSlice bytes, ReferenceCounted shared, long length) {
        this.id = id;
        this.file = file;
        this.bytes = bytes;
        this.shared = shared;
        this.outputs = new FreeExtents(0, length);
        this.metadata = new FreeExtents(length, 0);
        this.staging = new FreeExtents(length, 0);
        this.reads = new FreeExtents(length, 0);
        this.outputsEnd = length;
        this.metadataEnd = length;
        this.readsStart = length;
    }

    /** Creates a region of memory, all of which is free. */
    static Region inMemory(int id, Path file, Mapping mapping) {
        MemorySlice memory = mapping.memory();
        return new Region(id, file, memory, mapping, memory.lengthBytes());
    }

    /** Creates a region of the disk tier, which has no byte yet. */
    public static Region onDisk(int id, DiskFile file) {
        return new Region(id, file.path(), FileSlice.all(file), file, 0);
    }

    /** Returns whether a region with this number is a file of the disk tier. */
    public static boolean isOnDisk(int regionId) {
        return regionId >= FIRST_ON_DISK;
    }

    /**
     * Returns the number that names this region within its pool: counted from 0 in the memory tier, from
     * {@link #FIRST_ON_DISK} on disk.
     */
    public int id() {
        return id;
    }

    /** Returns the path of the file, which may be unlinked while the region is open. */
    public Path file() {
        return file;
    }

    /** Returns all of the region's bytes, in memory or on disk. */
    public StoredSlice bytes() {
        return bytes;
    }

    /**
     * Returns all bytes of a region of the memory tier.
     *
     * @throws IllegalStateException if it is one of the disk tier
     */
    public MemorySlice memory() {
        if (bytes instanceof MemorySlice memory) {
            return memory;
        }
        throw new IllegalStateException("region " + id + " lies on disk");
    }

    public ReferenceCounted shared() {
        return shared;
    }

    /** Returns the free ranges of an area. */
    public FreeExtents free(Area area) {
        return switch (area) {
            case OUTPUTS -> outputs;
            case METADATA -> metadata;
            case STAGING -> staging;
            case READS -> reads;
        };
    }

    /** Returns the area in which a lease at {@code offset} lies; none reaches from one into the next. */
    Area areaOf(long offset) {
        if (offset < outputsEnd) {
            return Area.OUTPUTS;
        }
        if (offset < metadataEnd) {
            return Area.METADATA;
        }
        return offset < readsStart ? Area.STAGING : Area.READS;
    }

    /** Returns the bytes of an area, free or leased. */
    long lengthBytes(Area area) {
        return switch (area) {
            case OUTPUTS -> outputsEnd;
            case METADATA -> metadataEnd - outputsEnd;
            case STAGING -> readsStart - metadataEnd;
            case READS -> memory().lengthBytes() - readsStart;
        };
    }

    /** Records that bytes were leased. */
    void leased() {
        leases++;
    }

    /** Records that a lease came back, or before the first one that there is none; returns whether none is left. */
    boolean unleased(int leasesBack, long nowNanos) {
        leases -= leasesBack;
        idleSinceNanos = nowNanos;
        return leases == 0;
    }

    /** Returns whether this region has been without leases for that time. */
    boolean isIdle(long nowNanos, long forNanos) {
        return leases == 0 && nowNanos - idleSinceNanos >= forNanos;
    }

    /** Divides a region that is not divided yet. The end of it must be free: {@link FreeExtents#tailBytes}. */
    void setAside(long metadataBytes, long stagingBytes, long readBytes) {
        long length = memory().lengthBytes();
        outputs.cutTail(metadataBytes + stagingBytes + readBytes);
        readsStart = length - readBytes;
        metadataEnd = readsStart - stagingBytes;
        outputsEnd = metadataEnd - metadataBytes;
        metadata = new FreeExtents(outputsEnd, metadataBytes);
        staging = new FreeExtents(metadataEnd, stagingBytes);
        reads = new FreeExtents(readsStart, readBytes);
    }
}
