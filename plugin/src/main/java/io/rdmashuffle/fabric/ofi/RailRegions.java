// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.ofi.OfiEndpoint;
import io.rdmashuffle.ofi.OfiRegion;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool's regions, registered with one endpoint: once for its own reads, where it needs that, and once for those of
 * peers.
 *
 * <p>A region stays mapped for a while after its registration has ended: the provider may be sending from it. Source:
 * fi_mr(3).
 *
 * <p><b>Threading:</b> thread-safe. Lookups take no lock; registration holds one for a region at a time.
 *
 * <p><b>Ownership:</b> owns the registrations until {@link #close}, and holds a reference to each region.
 */
final class RailRegions {
    private static final Logger LOG = LoggerFactory.getLogger(RailRegions.class);

    /** Longer than software needs to send a response to a sound peer. */
    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(15);

    private final OfiEndpoint endpoint;
    private final Map<Integer, Registered> regions = new ConcurrentHashMap<>();
    /** Regions that are not registered any more, oldest first. */
    private final Queue<Removed> removed = new ConcurrentLinkedQueue<>();

    private boolean closed;

    /** A region as this process and its peers use it; peers cannot if the provider has refused a new key. */
    private record Registered(
            Region region, OfiRegion local, @Nullable OfiRegion remote) {}

    private record Removed(Region region, long untilNanos) {}

    RailRegions(OfiEndpoint endpoint) {
        this.endpoint = endpoint;
    }

    /**
     * Registers a region; not if the rail has ended.
     *
     * @throws NativeException if the provider refuses
     */
    synchronized void add(Region region) {
        if (closed || !region.shared().retain()) {
            return;
        }
        OfiRegion local = null;
        try {
            local = endpoint.registerLocal(address(region), length(region));
            OfiRegion remote = endpoint.registerRemote(address(region), length(region));
            regions.put(region.id(), new Registered(region, local, remote));
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, local, region.shared()::release);
            throw failure;
        }
    }

    private static long address(Region region) {
        return region.memory().address();
    }

    private static long length(Region region) {
        return region.memory().lengthBytes();
    }

    /**
     * Ends the registrations of a region.
     *
     * @throws RuntimeException if one cannot be ended; then the region stays mapped
     */
    synchronized void remove(Region region) {
        Registered registered = regions.remove(region.id());
        if (registered != null) {
            end(registered);
            removed.add(new Removed(region, System.nanoTime() + GRACE_NANOS));
        }
    }

    private static void end(Registered registered) {
        RuntimeException failure = closing(registered.remote(), null);
        failure = closing(registered.local(), failure);
        if (failure != null) {
            throw failure;
        }
    }

    private static @Nullable RuntimeException closing(
            @Nullable OfiRegion registration, @Nullable RuntimeException earlier) {
        try {
            if (registration != null) {
                registration.close();
            }
            return earlier;
        } catch (RuntimeException e) {
            if (earlier != null) {
                e.addSuppressed(earlier);
            }
            return e;
        }
    }

    /** Releases regions from which nothing is being sent any more; for one thread. */
    void releaseRemoved() {
        Removed oldest = removed.peek();
        while (oldest != null && System.nanoTime() - oldest.untilNanos() >= 0) {
            removed.remove();
            release(oldest.region());
            oldest = removed.peek();
        }
    }

    private static void release(Region region) {
        try {
            region.shared().release();
        } catch (RuntimeException e) {
            LOG.debug("Region {} cannot be unmapped", region.id(), e);
        }
    }

    /** Returns how this process uses a region; null if it does not know it. */
    @Nullable
    OfiRegion local(int regionId) {
        Registered registered = regions.get(regionId);
        return registered == null ? null : registered.local();
    }

    /** Returns how peers read a region; null if they cannot. */
    @Nullable
    OfiRegion remote(int regionId) {
        Registered registered = regions.get(regionId);
        return registered == null ? null : registered.remote();
    }

    /** Gives each region another key. Reads with the old one fail; readers that may have the new one ask for it. */
    void changeKeys() {
        for (int id : regions.keySet()) {
            try {
                changeKey(id);
            } catch (RuntimeException e) {
                LOG.warn("Cannot give region {} another key on {}; peers read it over other paths", id, endpoint, e);
            }
        }
    }

    private synchronized void changeKey(int id) {
        Registered old = regions.get(id);
        if (closed || old == null) {
            return;
        }
        OfiRegion next = null;
        try {
            next = endpoint.registerRemote(address(old.region()), length(old.region()));
        } catch (NativeException e) {
            LOG.debug("No room for two registrations of region {}", id, e);
        }
        regions.put(id, new Registered(old.region(), old.local(), next));
        OfiRegion last = old.remote();
        if (last != null) {
            end(old.region(), last);
        }
        if (next == null) {
            next = endpoint.registerRemote(address(old.region()), length(old.region()));
            if (last != null && next.key() == last.key()) {
                end(old.region(), next);
                throw new IllegalStateException("the provider has given out the same key again");
            }
            regions.put(id, new Registered(old.region(), old.local(), next));
        }
    }

    /** Ends a registration that nothing refers to any more; if that fails, its region stays mapped for ever. */
    private static void end(Region region, OfiRegion registration) {
        try {
            registration.close();
        } catch (RuntimeException e) {
            boolean unused = region.shared().retain();
            throw e;
        }
    }

    /**
     * Ends all registrations.
     *
     * @throws RuntimeException if one cannot be ended
     */
    synchronized void close() {
        closed = true;
        RuntimeException failure = null;
        for (Registered each : regions.values()) {
            failure = closing(each.remote(), failure);
            failure = closing(each.local(), failure);
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Releases all regions, once the endpoint has been closed. */
    synchronized void release() {
        regions.values().forEach(each -> release(each.region()));
        regions.clear();
        removed.forEach(each -> release(each.region()));
        removed.clear();
    }
}
