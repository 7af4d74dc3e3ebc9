// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The regions of a pool, and which of their bytes are leased.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards it.
 *
 * <p><b>Ownership:</b> a lease that is out keeps its region mapped.
 */
final class Regions {
    /**
     * The part of a region in which only indexes and directory entries may lie. A row of an index has 12 bytes, so 1 of
     * 16 holds the indexes of blocks of 200 bytes; where blocks are longer, also those of outputs that lie on disk, and
     * each of their blocks then costs one system call.
     */
    private static final long METADATA_SHARE = 16;

    /** The part of a region that reads from peers may have for themselves, at most. */
    private static final long READ_SHARE = 4;

    private final List<Region> all = new ArrayList<>();
    private final PoolUsage.Accountant accountant = new PoolUsage.Accountant();
    private final Lease.Owner owner;
    private long capacityBytes;
    private long setAsideBytes;
    private long longestLease;
    private boolean divided;
    /** Bytes for reads that regions still to come are to bring. */
    private long readBytesMissing;

    /**
     * Starts without a region.
     *
     * @param owner takes leases back
     */
    Regions(PoolSettings settings, Lease.Owner owner) {
        this.longestLease = Math.min(settings.regionBytes(), settings.capBytes());
        this.owner = owner;
    }

    /** Returns all regions, in the order of their ids. */
    List<Region> all() {
        return all;
    }

    /** Returns the bytes of all regions. */
    long capacityBytes() {
        return capacityBytes;
    }

    /** Returns the bytes of the longest lease that there can be. */
    long longestLease() {
        return longestLease;
    }

    /** Returns the numbers of this moment, of a pool that may come to have so many bytes. */
    PoolUsage usage(long attainableBytes) {
        return accountant.snapshot(attainableBytes, capacityBytes, all.size(), setAsideBytes);
    }

    void add(Region region) {
        if (divided) {
            divide(region);
        }
        all.add(region);
        capacityBytes += region.memory().lengthBytes();
    }

    /** See {@link Pool#setAside}. */
    void setAside(long readBytes) {
        if (divided) {
            throw new IllegalStateException("memory has been set aside already");
        }
        divided = true;
        readBytesMissing = readBytes;
        longestLease -= longestLease / METADATA_SHARE + Math.min(readBytes, longestLease / READ_SHARE);
        all.forEach(this::divide);
    }

    private void divide(Region region) {
        long most = granules(region.free(Area.OUTPUTS).tailBytes() / READ_SHARE);
        long metadata = Math.min(granules(region.memory().lengthBytes() / METADATA_SHARE), most);
        long reads = Math.min(FreeExtents.roundUp(readBytesMissing), most);
        region.setAside(metadata, reads);
        setAsideBytes += metadata + reads;
        readBytesMissing -= Math.min(readBytesMissing, reads);
    }

    private static long granules(long bytes) {
        return bytes & -FreeExtents.GRANULE_BYTES;
    }

    /** Leases all that a request wants, or else as much as there is in one piece, but no less than {@code least}. */
    @Nullable
    Lease take(Request request, long least) {
        for (Area area : request.purpose().areas()) {
            for (Region region : all) {
                Lease lease = takeFrom(region, area, request, least);
                if (lease != null) {
                    return lease;
                }
            }
        }
        return null;
    }

    /** Likewise, from one area; null if the request may not lie there. */
    @Nullable
    Lease takeFrom(Region region, Area area, Request request, long least) {
        if (!request.purpose().areas().contains(area)) {
            return null;
        }
        FreeExtents.Extent extent = region.free(area).take(least, request.wanted());
        if (extent == null) {
            return null;
        }
        if (!region.shared().retain()) {
            throw new IllegalStateException("region " + region.id() + " is unmapped while the pool is open");
        }
        accountant.bytesTaken(request.purpose(), extent.lengthBytes());
        accountant.leaseOpened();
        return new Lease(owner, region, extent.offset(), extent.lengthBytes(), request.purpose());
    }

    /** Extends a lease in place by up to so many bytes; returns how many were added. */
    long extend(Lease lease, long bytes) {
        long added = freeAround(lease).takeAt(lease.offset() + lease.lengthBytes(), bytes);
        if (added > 0) {
            accountant.bytesTaken(lease.purpose(), added);
        }
        return added;
    }

    void releaseTail(Lease lease, long offset, long bytes) {
        freeAround(lease).release(offset, bytes);
        accountant.bytesReturned(lease.purpose(), bytes);
    }

    void release(Lease lease) {
        releaseTail(lease, lease.offset(), lease.lengthBytes());
        accountant.leaseClosed();
    }

    private static FreeExtents freeAround(Lease lease) {
        return lease.region().free(lease.region().areaOf(lease.offset()));
    }
}
