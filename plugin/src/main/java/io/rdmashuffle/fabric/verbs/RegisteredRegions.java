// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.memory.Region;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The pool's regions, and the rails that they are registered with.
 *
 * <p><b>Threading:</b> thread-safe, under one lock, which is held while one region is registered.
 */
final class RegisteredRegions {
    /** Regions by id, without released ones. */
    private final NavigableMap<Integer, Region> regions = new TreeMap<>();
    /** Ids that have been used. */
    private int bound;
    /** Also one that is being opened anew: it has the regions below its {@link Rail#bound}. */
    private final List<Rail> rails = new ArrayList<>();

    /**
     * Registers a region with every rail, or with none.
     *
     * @throws io.rdmashuffle.ffi.NativeException if a rail's device or the limit of locked memory refuses
     */
    synchronized void add(Region region) {
        List<Rail> registered = new ArrayList<>();
        boolean complete = false;
        try {
            for (Rail rail : rails) {
                if (regions.ceilingKey(rail.bound()) == null) {
                    rail.register(region);
                    registered.add(rail);
                }
            }
            regions.put(region.id(), region);
            bound = Math.max(bound, region.id() + 1);
            complete = true;
        } finally {
            if (!complete) {
                registered.forEach(Rail::unregisterLast);
            }
        }
    }

    /** Deregisters a region from every rail; after a failure it remains readable over the following rails. */
    synchronized void remove(Region region) {
        regions.remove(region.id());
        for (Rail rail : rails) {
            if (region.id() < rail.bound()) {
                rail.unregister(region);
            }
        }
    }

    /**
     * Registers all regions with a rail, one after another so that the pool can grow meanwhile; from now on the rail
     * has every region that comes.
     *
     * @throws io.rdmashuffle.ffi.NativeException if the rail's device or the limit of locked memory refuses one; the
     *     rail must be {@link #forget forgotten}
     */
    void include(Rail rail) {
        synchronized (this) {
            rails.add(rail);
        }
        while (registerNext(rail)) {
            // The lock is free between two.
        }
    }

    private synchronized boolean registerNext(Rail rail) {
        Map.Entry<Integer, Region> next = regions.ceilingEntry(rail.bound());
        if (next == null) {
            rail.registerAbsentTo(bound);
            return false;
        }
        rail.register(next.getValue());
        return true;
    }

    /** Registers nothing more with a rail. */
    synchronized void forget(Rail rail) {
        rails.remove(rail);
    }
}
