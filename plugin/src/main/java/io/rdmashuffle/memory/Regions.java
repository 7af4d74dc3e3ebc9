// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
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

    /** The part of a region that is for staging alone, at most. */
    private static final long STAGING_SHARE = 16;

    private final List<Region> all = new ArrayList<>();
    /** Those of which nothing is leased any more, and that are not gone. */
    private final List<Region> withdrawn = new ArrayList<>();

    private final PoolUsage.Accountant accountant = new PoolUsage.Accountant();
    private final Lease.Owner owner;
    private final LongSupplier nanoClock;
    private int nextId;
    private long capacityBytes;
    private long setAsideBytes;
    private long longestLease;
    private boolean divided;
    /** Bytes for reads that regions still to come are to bring. */
    private long readBytesMissing;
    /** Likewise, for staging. */
    private long stagingBytesMissing;

    /**
     * Starts without a region.
     *
     * @param owner takes leases back
     * @param nanoClock tells for how long regions have been idle
     */
    Regions(PoolSettings settings, Lease.Owner owner, LongSupplier nanoClock) {
        this.longestLease = Math.min(settings.regionBytes(), settings.capBytes());
        this.owner = owner;
        this.nanoClock = nanoClock;
    }

    /** Returns all regions, in the order of their ids. */
    List<Region> all() {
        return all;
    }

    /** Returns the areas that leases of a region come from: none if it was idle for long and given back. */
    List<Area> areasOf(Region region) {
        return all.contains(region) ? List.of(Area.values()) : List.of();
    }

    /** Returns the id of the next region; it never goes back, so that no peer takes a region for an earlier one. */
    int nextId() {
        return nextId;
    }

    /** Returns the bytes of all regions, those being removed included. */
    long capacityBytes() {
        return capacityBytes;
    }

    /** Returns the bytes of the longest lease that there can be. */
    long longestLease() {
        return longestLease;
    }

    /** Counts a request of a map output that found no room. */
    void countRefusal() {
        accountant.refused();
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
        nextId = region.id() + 1;
        capacityBytes += region.memory().lengthBytes();
        region.unleased(0, nanoClock.getAsLong());
    }

    /**
     * Returns the last region, the first one excepted, that has been idle for so long and without which the pool has
     * {@code keptBytes}; null if there is none. Leases come from the first region that has room, so the last ones are
     * those that are not needed.
     */
    @Nullable
    Region idle(long idleNanos, long keptBytes) {
        long now = nanoClock.getAsLong();
        for (int i = all.size() - 1; i > 0; i--) {
            Region region = all.get(i);
            if (region.isIdle(now, idleNanos) && capacityBytes - region.memory().lengthBytes() >= keptBytes) {
                return region;
            }
        }
        return null;
    }

    /** Lets nothing be leased from an idle region any more; its bytes count until {@link #removed}. */
    void withdraw(Region region) {
        all.remove(region);
        withdrawn.add(region);
        long staging = region.lengthBytes(Area.STAGING);
        long reads = region.lengthBytes(Area.READS);
        setAsideBytes -= region.lengthBytes(Area.METADATA) + staging + reads;
        stagingBytesMissing += staging;
        readBytesMissing += reads;
    }

    /** Takes note that a region that was withdrawn is gone. */
    void removed(Region region) {
        withdrawn.remove(region);
        capacityBytes -= region.memory().lengthBytes();
    }

    /** Unmaps every region when its leases are back. */
    void close() {
        all.forEach(region -> region.shared().close());
        withdrawn.forEach(region -> region.shared().close());
    }

    /** See {@link Pool#setAside}. */
    void setAside(long readBytes, long stagingBytes) {
        if (divided) {
            throw new IllegalStateException("memory has been set aside already");
        }
        divided = true;
        readBytesMissing = readBytes;
        stagingBytesMissing = stagingBytes;
        // In whole granules, as regions are divided: a lease of any other length would end inside of one.
        longestLease -= granules(longestLease / METADATA_SHARE)
                + Math.min(FreeExtents.roundUp(readBytes), granules(longestLease / READ_SHARE))
                + Math.min(FreeExtents.roundUp(stagingBytes), granules(longestLease / STAGING_SHARE));
        all.forEach(this::divide);
    }

    private void divide(Region region) {
        long tail = region.free(Area.OUTPUTS).tailBytes();
        long most = granules(tail / READ_SHARE);
        long metadata = Math.min(granules(region.memory().lengthBytes() / METADATA_SHARE), most);
        long reads = Math.min(FreeExtents.roundUp(readBytesMissing), most);
        long staging = Math.min(FreeExtents.roundUp(stagingBytesMissing), granules(tail / STAGING_SHARE));
        region.setAside(metadata, staging, reads);
        setAsideBytes += metadata + staging + reads;
        readBytesMissing -= Math.min(readBytesMissing, reads);
        stagingBytesMissing -= Math.min(stagingBytesMissing, staging);
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
        region.leased();
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
        lease.region().unleased(1, nanoClock.getAsLong());
    }

    private static FreeExtents freeAround(Lease lease) {
        return lease.region().free(lease.region().areaOf(lease.offset()));
    }
}
