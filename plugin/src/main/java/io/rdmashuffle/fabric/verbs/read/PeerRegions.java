// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.verbs.device.RegionTable;
import io.rdmashuffle.memory.Region;
import java.util.List;

/**
 * Cache of a peer's regions, with the state of the current query.
 *
 * <p><b>Threading:</b> the data thread; {@link #known()} and {@link #forget()} are for any thread.
 */
public final class PeerRegions {
    private volatile RegionTable table = RegionTable.EMPTY;
    private boolean querying;
    /** When the read that wanted the last query ends. */
    private long queryDeadline;
    /** Region ids that the peer has used, by its own account. */
    private int existing;

    /** Result of a lookup of a read's regions. */
    enum Lookup {
        /** All regions of the read are known. */
        READY,
        /** The peer must be queried, or has been and has not responded. */
        UNKNOWN,
        /** The read is outside the peer's regions, or in a released one. */
        IMPOSSIBLE
    }

    /** Returns the number of regions with a known rkey. */
    public int known() {
        return table.present();
    }

    /** Drops the known regions; the next read queries again. */
    public void forget() {
        table = RegionTable.EMPTY;
    }

    /** Replaces the known regions; for tests. */
    public void replace(RegionTable other) {
        table = other;
    }

    /** Starts anew, with another connection or without one. */
    void reset() {
        table = RegionTable.EMPTY;
        querying = false;
        existing = 0;
    }

    boolean isQuerying() {
        return querying;
    }

    /** Sets the deadline of queries from now on: that of the read that needs the answer. */
    void expectUntil(long deadlineNanos) {
        queryDeadline = deadlineNanos;
    }

    /** Returns whether a query has not been answered in time. */
    boolean isLate(long now) {
        return querying && now - queryDeadline >= 0;
    }

    /** Looks up all regions of memory that a read needs, once, before anything of it is posted. */
    Lookup lookUp(PendingRead read) {
        RegionTable known = table;
        List<RemoteSlice> sources = read.request().sources();
        for (int i = 0; i < sources.size(); i++) {
            RemoteSlice source = sources.get(i);
            if (Region.isOnDisk(source.regionId())) {
                continue;
            }
            if (!known.knows(source.regionId())) {
                boolean findable = querying || known.bound() < existing || read.hasQueryLeft();
                return findable ? Lookup.UNKNOWN : Lookup.IMPOSSIBLE;
            }
            if (known.isAbsent(source.regionId()) || !isInside(known, source)) {
                return Lookup.IMPOSSIBLE;
            }
        }
        read.use(known);
        return Lookup.READY;
    }

    /** Returns whether a read is impossible because the peer has released a region. */
    boolean leadsToAbsent(PendingRead read) {
        RegionTable known = table;
        return read.request().sources().stream()
                .anyMatch(source -> known.knows(source.regionId()) && known.isAbsent(source.regionId()));
    }

    /** Returns the reason why a read is impossible. */
    String reasonAgainst(PendingRead read) {
        RegionTable known = table;
        for (RemoteSlice source : read.request().sources()) {
            if (Region.isOnDisk(source.regionId())) {
                continue;
            }
            if (!known.knows(source.regionId())) {
                return source + ": the peer has " + known.present() + " regions";
            }
            if (known.isAbsent(source.regionId())) {
                return source + ": the peer has released the region";
            }
            if (!isInside(known, source)) {
                return source + " is outside the region of " + known.lengthBytes(source.regionId()) + " bytes";
            }
        }
        return "the peer's regions changed";
    }

    /** Written so that offsets near the largest number do not overflow. */
    private static boolean isInside(RegionTable known, RemoteSlice source) {
        long length = known.lengthBytes(source.regionId());
        return source.lengthBytes() <= length && source.offset() <= length - source.lengthBytes();
    }

    /**
     * Queries the regions behind the known ones.
     *
     * @throws io.rdmashuffle.ffi.NativeException or {@link IllegalStateException} if the queue pair refuses
     */
    void query(Connection on, RequestPoster poster) {
        writeQuery(on.queryAddress());
        poster.postQuery(on);
    }

    void writeQuery(long target) {
        querying = true;
        RegionTable.writeQuery(target, table.bound());
    }

    /**
     * Processes a response; returns whether there are more regions to query.
     *
     * @throws IllegalArgumentException if it does not continue the known regions, which are dropped then
     */
    boolean takeResponse(long response, int lengthBytes) {
        querying = false;
        RegionTable before = table;
        try {
            RegionTable after = before.withResponse(response, lengthBytes);
            table = after;
            existing = RegionTable.existing(response);
            return after.bound() > before.bound() && after.bound() < existing;
        } catch (IllegalArgumentException e) {
            // Regions were dropped while the query was under way, or the response is damaged: the next read queries
            // again, and fails when it has done so too often.
            table = RegionTable.EMPTY;
            existing = 0;
            throw e;
        }
    }
}
