// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.memory.EndedPool;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Pools of ended processes that peers read over the rails of this one. Registering takes a quarter of a second for each
 * GiB that is pinned, so another thread than the caller's does it.
 *
 * <p><b>Threading:</b> {@link #tend} is for one thread, the rest is for any.
 *
 * <p><b>Ownership:</b> rails hold references to the pools.
 */
final class EndedPools {
    private static final Logger LOG = LoggerFactory.getLogger(EndedPools.class);

    /** The driver, which asks several executors in turn if one does not answer, waits for seconds. */
    private static final long WAIT_MILLIS = 200;

    /** By fabric id; guarded by this. */
    private final Map<Long, Entry> wanted = new HashMap<>();

    private final Runnable wake;

    /**
     * A pool to be served.
     *
     * @param tended open until it has been registered, or cannot be
     */
    private record Entry(EndedPool pool, CountDownLatch tended) {}

    /**
     * Begins without pools.
     *
     * @param wake has {@link #tend} called
     */
    EndedPools(Runnable wake) {
        this.wake = wake;
    }

    /**
     * Serves a pool, if not at once then as soon as it is registered: peers that come before are refused, and read over
     * the next transport.
     *
     * @return false if it cannot be registered
     */
    boolean inherit(long fabricId, EndedPool pool) {
        Entry added = new Entry(pool, new CountDownLatch(1));
        synchronized (this) {
            wanted.put(fabricId, added);
        }
        wake.run();
        try {
            if (!added.tended().await(WAIT_MILLIS, TimeUnit.MILLISECONDS)) {
                LOG.debug("The pool of an ended process is still being registered");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return isWanted(fabricId, added);
    }

    private synchronized boolean isWanted(long fabricId, Entry entry) {
        return entry.equals(wanted.get(fabricId));
    }

    /** Ends the service of a pool; returns at once. */
    void renounce(long fabricId) {
        synchronized (this) {
            wanted.remove(fabricId);
        }
        wake.run();
    }

    /** Registers new pools with the rails, and deregisters renounced ones. */
    void tend(List<RunningRail> rails) {
        Map<Long, Entry> now;
        synchronized (this) {
            now = Map.copyOf(wanted);
        }
        rails.forEach(rail -> release(rail, now));
        now.forEach((fabricId, entry) -> {
            boolean isNew = entry.tended().getCount() > 0;
            try {
                for (RunningRail rail : rails) {
                    RuntimeException failure = register(rail, fabricId, entry.pool());
                    if (failure != null && isNew) {
                        refused(rails, fabricId, entry, failure);
                        return;
                    }
                }
            } finally {
                entry.tended().countDown();
            }
        });
    }

    private static void release(RunningRail rail, Map<Long, Entry> now) {
        for (long fabricId : rail.rail().inheritedFrom()) {
            Entry entry = now.get(fabricId);
            if (entry == null || !rail.rail().serves(fabricId, entry.pool())) {
                renounce(rail, fabricId);
            }
        }
    }

    private static void renounce(RunningRail rail, long fabricId) {
        rail.rail().renounce(fabricId);
        rail.control().endInherited(fabricId);
    }

    /** Returns why the rail cannot serve a pool; null if it does. One that is back is tried again at the next tick. */
    private static @Nullable RuntimeException register(RunningRail rail, long fabricId, EndedPool pool) {
        try {
            if (!rail.rail().serves(fabricId, pool)) {
                rail.rail().inherit(fabricId, pool);
            }
            return null;
        } catch (NativeException | IllegalStateException e) {
            LOG.debug("A rail cannot serve the pool of an ended process", e);
            return e;
        }
    }

    /** One rail could not register it, so none serves it. */
    private void refused(List<RunningRail> rails, long fabricId, Entry entry, RuntimeException cause) {
        boolean removed;
        synchronized (this) {
            removed = wanted.remove(fabricId, entry);
        }
        rails.forEach(rail -> renounce(rail, fabricId));
        if (removed) {
            LOG.warn(
                    "Cannot register the pool of an executor that has ended with an RDMA device; other hosts read it"
                            + " over TCP or Spark's block transfer (ulimit -l)",
                    cause);
        }
    }
}
