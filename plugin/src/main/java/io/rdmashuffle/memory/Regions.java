// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Regions of a pool with their leased and free ranges. No operation of a lease visits more than one region of an area,
 * however many there are.
 *
 * <p><b>Threading:</b> none; the {@link Pool}'s lock guards all except {@link #longestLease()}.
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

    private final NavigableMap<Integer, Region> all = new TreeMap<>();
    /** The regions without a lease, by id. */
    private final NavigableMap<Integer, Region> unleased = new TreeMap<>();

    private final Map<Area, LongestRanges> longest = new EnumMap<>(Area.class);
    /** Unleased regions that lend nothing any more, until they are removed. */
    private final Set<Region> withdrawn = new HashSet<>();

    private final PoolUsage.Accountant accountant = new PoolUsage.Accountant();
    private final Lease.Owner owner;
    private final LongSupplier nanoClock;
    private int nextId;
    private long capacityBytes;
    private long setAsideBytes;
    private long freeOutputBytes;
    /** Written under the lock; read by every reduce task, without it. */
    private volatile long longestLease;

    private long visits;
    private boolean divided;
    /** Bytes for reads that later regions must provide. */
    private long readBytesMissing;
    /** Bytes for staging that later regions must provide. */
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
        for (Area area : Area.values()) {
            longest.put(area, new LongestRanges());
        }
    }

    /** Returns all regions, in the order of their ids. */
    Collection<Region> all() {
        return Collections.unmodifiableCollection(all.values());
    }

    /** Returns the areas that leases of a region come from; none of a region that was released while idle. */
    List<Area> areasOf(Region region) {
        return all.get(region.id()) == region ? List.of(Area.values()) : List.of();
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

    /** Returns the free bytes that map outputs may lease. */
    long freeOutputBytes() {
        return freeOutputBytes;
    }

    /** Returns the number of regions searched for room since the start; for tests. */
    long visits() {
        return visits;
    }

    /** Counts a request of a map output that found no room. */
    void countRefusal() {
        accountant.refused();
    }

    /** Returns the current numbers of a pool that can grow to {@code attainableBytes}. */
    PoolUsage usage(long attainableBytes) {
        return accountant.snapshot(
                attainableBytes, capacityBytes, all.size(), setAsideBytes + shareOfGrowth(attainableBytes));
    }

    /** Returns the bytes that regions still to come will set aside. */
    private long shareOfGrowth(long attainableBytes) {
        long growth = Math.max(0, attainableBytes - capacityBytes);
        return divided
                ? growth / METADATA_SHARE
                        + Math.min(readBytesMissing, growth / READ_SHARE)
                        + Math.min(stagingBytesMissing, growth / STAGING_SHARE)
                : 0;
    }

    void add(Region region) {
        if (divided) {
            divide(region);
        }
        all.put(region.id(), region);
        nextId = region.id() + 1;
        capacityBytes += region.memory().lengthBytes();
        freeOutputBytes += region.free(Area.OUTPUTS).freeBytes();
        for (Area area : Area.values()) {
            noteLongest(region, area);
        }
        region.unleased(0, nanoClock.getAsLong());
        unleased.put(region.id(), region);
    }

    private void noteLongest(Region region, Area area) {
        longestOf(area).put(region, region.free(area).longestBytes());
    }

    private LongestRanges longestOf(Area area) {
        return Objects.requireNonNull(longest.get(area));
    }

    /**
     * Returns the last region, except the first one, that has been idle for that time and without which the pool has
     * {@code keptBytes}; null if there is none. Among equally free regions the lowest id is used first, so the last
     * ones are not needed.
     */
    @Nullable
    Region idle(long idleNanos, long keptBytes) {
        long now = nanoClock.getAsLong();
        for (Region region : unleased.descendingMap().values()) {
            if (region != all.firstEntry().getValue()
                    && region.isIdle(now, idleNanos)
                    && capacityBytes - region.memory().lengthBytes() >= keptBytes) {
                return region;
            }
        }
        return null;
    }

    /** Retires an idle region: nothing is leased from it any more; its bytes count until {@link #removed}. */
    void withdraw(Region region) {
        all.remove(region.id());
        unleased.remove(region.id());
        longest.values().forEach(ranges -> ranges.remove(region));
        freeOutputBytes -= region.lengthBytes(Area.OUTPUTS);
        withdrawn.add(region);
        long staging = region.lengthBytes(Area.STAGING);
        long reads = region.lengthBytes(Area.READS);
        setAsideBytes -= region.lengthBytes(Area.METADATA) + staging + reads;
        stagingBytesMissing += staging;
        readBytesMissing += reads;
    }

    /** Records that a withdrawn region was removed. */
    void removed(Region region) {
        withdrawn.remove(region);
        capacityBytes -= region.memory().lengthBytes();
    }

    /** Unmaps every region when its leases are back. */
    void close() {
        all.values().forEach(region -> region.shared().close());
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
        long whole = longestLease;
        longestLease = whole
                - granules(whole / METADATA_SHARE)
                - Math.min(FreeExtents.roundUp(readBytes), granules(whole / READ_SHARE))
                - Math.min(FreeExtents.roundUp(stagingBytes), granules(whole / STAGING_SHARE));
        for (Region region : all.values()) {
            divide(region);
            for (Area area : Area.values()) {
                noteLongest(region, area);
            }
        }
        freeOutputBytes -= setAsideBytes;
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

    /**
     * Leases all that a request wants, from the region whose longest free range exceeds that least, or else the longest
     * range that there is, but no less than {@code least}.
     */
    @Nullable
    Lease take(Request request, long least) {
        for (Area area : request.purpose().areas()) {
            Region region = longestOf(area).regionFor(request.wanted());
            Lease lease = region == null ? null : takeFrom(region, area, request, least);
            if (lease != null) {
                return lease;
            }
        }
        return null;
    }

    /** Leases from one area; null if it has no room, or the request may not lie there. */
    @Nullable
    Lease takeFrom(Region region, Area area, Request request, long least) {
        if (!request.purpose().areas().contains(area)) {
            return null;
        }
        visits++;
        FreeExtents.Extent extent = region.free(area).take(least, request.wanted());
        if (extent == null) {
            return null;
        }
        if (!region.shared().retain()) {
            throw new IllegalStateException("region " + region.id() + " is unmapped while the pool is open");
        }
        taken(region, area, request.purpose(), extent.lengthBytes());
        accountant.leaseOpened();
        region.leased();
        unleased.remove(region.id());
        return new Lease(owner, region, extent.offset(), extent.lengthBytes(), request.purpose());
    }

    /** Extends a lease in place by up to {@code bytes}; returns how many were added. */
    long extend(Lease lease, long bytes) {
        Area area = areaOf(lease);
        long added = lease.region().free(area).takeAt(lease.offset() + lease.lengthBytes(), bytes);
        if (added > 0) {
            taken(lease.region(), area, lease.purpose(), added);
        }
        return added;
    }

    private void taken(Region region, Area area, Purpose purpose, long bytes) {
        accountant.bytesTaken(purpose, bytes);
        freeOutputBytes -= area == Area.OUTPUTS ? bytes : 0;
        noteLongest(region, area);
    }

    void releaseTail(Lease lease, long offset, long bytes) {
        Area area = areaOf(lease);
        lease.region().free(area).release(offset, bytes);
        accountant.bytesReturned(lease.purpose(), bytes);
        freeOutputBytes += area == Area.OUTPUTS ? bytes : 0;
        noteLongest(lease.region(), area);
    }

    void release(Lease lease) {
        releaseTail(lease, lease.offset(), lease.lengthBytes());
        accountant.leaseClosed();
        Region region = lease.region();
        if (region.unleased(1, nanoClock.getAsLong())) {
            unleased.put(region.id(), region);
        }
    }

    private static Area areaOf(Lease lease) {
        return lease.region().areaOf(lease.offset());
    }
}
