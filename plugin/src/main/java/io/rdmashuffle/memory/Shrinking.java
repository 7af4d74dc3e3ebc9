// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory;

import io.rdmashuffle.text.Quantities;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Release of idle regions to the host: first no lease is made from them, then fabrics release them, then they are
 * unmapped and their files removed. The pool keeps its initial size and its first region, which identifies it to peers.
 *
 * <p>Ids are never reused: a peer with an old location must not find another region there. Peers query existing
 * regions, so that a high id costs no more than a low one. There are 16.7 million ids: a pool of 1,600 regions that
 * fills and empties every three minutes has them for three weeks, one of four regions for decades. After that no region
 * is released.
 *
 * <p><b>Threading:</b> thread-safe; the {@link Pool}'s lock guards it, which is not held while a region is removed.
 *
 * <p><b>Ownership:</b> a region that fabrics cannot release stays mapped until the pool closes, after them.
 */
final class Shrinking {
    private static final Logger LOG = LoggerFactory.getLogger(Shrinking.class);

    /** Leaves, below the ids of the disk tier, one for every mapping that a process may have. */
    private static final int MAX_IDS = Region.FIRST_ON_DISK - (1 << 16);

    private final int maxIds;
    private final long keptBytes;
    private final ReentrantLock lock;
    private final Condition ended;
    private final Regions regions;
    private final RegionFactory factory;
    private boolean underWay;
    private boolean stopped;

    Shrinking(PoolSettings settings, ReentrantLock lock, Regions regions, RegionFactory factory) {
        this(settings, lock, regions, factory, MAX_IDS);
    }

    /** Creates it with fewer ids; for tests. */
    Shrinking(PoolSettings settings, ReentrantLock lock, Regions regions, RegionFactory factory, int maxIds) {
        this.maxIds = maxIds;
        this.keptBytes = settings.initialBytes();
        this.lock = lock;
        this.ended = lock.newCondition();
        this.regions = regions;
        this.factory = factory;
    }

    /** Removes the regions that have been idle for that time; returns their number. */
    int giveBack(Duration idle) {
        int count = 0;
        for (Region region = begin(idle.toNanos()); region != null; region = begin(idle.toNanos())) {
            if (!remove(region)) {
                break;
            }
            count++;
        }
        return count;
    }

    private @Nullable Region begin(long idleNanos) {
        lock.lock();
        try {
            if (!stopped && regions.nextId() >= maxIds) {
                stopped = true;
                LOG.warn(
                        "The pool has used {} region ids; this executor releases no further memory"
                                + " (spark.shuffle.rdma.pool.idleTimeout)",
                        regions.nextId());
            }
            boolean may = !stopped && !underWay;
            Region region = may ? regions.idle(idleNanos, keptBytes) : null;
            if (region != null) {
                regions.withdraw(region);
                underWay = true;
            }
            return region;
        } finally {
            lock.unlock();
        }
    }

    private boolean remove(Region region) {
        boolean removed = false;
        try {
            factory.remove(region);
            removed = true;
            LOG.debug("Released region {}", region.id());
        } catch (RuntimeException e) {
            LOG.warn(
                    "Cannot release {} of the pool, which stays mapped and unused; this executor releases no further"
                            + " memory (spark.shuffle.rdma.pool.idleTimeout)",
                    Quantities.mebibytes(region.memory().lengthBytes()),
                    e);
        } finally {
            end(region, removed);
        }
        return removed;
    }

    private void end(Region region, boolean removed) {
        lock.lock();
        try {
            underWay = false;
            if (removed) {
                regions.removed(region);
            } else {
                stopped = true;
            }
            ended.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Begins no removal from now on, and waits for the end of one that has begun. The caller holds the lock. */
    void stop() {
        stopped = true;
        WorkEnd.await(ended, () -> underWay);
    }
}
