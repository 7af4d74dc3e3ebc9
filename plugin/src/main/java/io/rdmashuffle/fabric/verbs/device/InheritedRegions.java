// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import io.rdmashuffle.memory.Region;
import io.rdmashuffle.verbs.MemoryRegion;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pool of an ended process, registered with one rail for peers to read.
 *
 * <p><b>Threading:</b> immutable; closed once.
 *
 * <p><b>Ownership:</b> owns the registrations, and a reference to the pool, which is mapped as long.
 */
public final class InheritedRegions implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(InheritedRegions.class);

    private final EndedPool pool;
    private final List<MemoryRegion> registered = new ArrayList<>();
    private RegionTable table = RegionTable.EMPTY;

    private InheritedRegions(EndedPool pool) {
        this.pool = pool;
    }

    /**
     * Registers all regions.
     *
     * @param pool to which the caller holds a reference
     * @param register registers a region for peers to read
     * @throws NativeException if the device or the limit of locked memory refuses one
     */
    static InheritedRegions register(EndedPool pool, Function<Region, MemoryRegion> register) {
        if (!pool.retain()) {
            throw new IllegalStateException("the pool is closed");
        }
        InheritedRegions made = new InheritedRegions(pool);
        boolean complete = false;
        try {
            pool.regions().stream()
                    .sorted(Comparator.comparingInt(Region::id))
                    .forEachOrdered(region -> made.add(region.id(), register.apply(region)));
            complete = true;
            return made;
        } finally {
            if (!complete) {
                made.close();
            }
        }
    }

    private void add(int id, MemoryRegion region) {
        registered.add(region);
        table = table.with(id, region.address(), region.lengthBytes(), region.remoteKey());
    }

    /** Returns the pool, which may be closed meanwhile. */
    public EndedPool pool() {
        return pool;
    }

    /** Returns the regions as peers read them over this rail. */
    public RegionTable table() {
        return table;
    }

    /** The pool stays mapped if the device does not release all of its regions, and goes on. */
    @Override
    public void close() {
        boolean released = true;
        for (MemoryRegion each : registered) {
            released &= isReleased(each);
        }
        if (released) {
            pool.release();
        }
    }

    private static boolean isReleased(MemoryRegion region) {
        try {
            region.close();
            return true;
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("The pool of an ended process stays mapped", e);
            return false;
        }
    }
}
