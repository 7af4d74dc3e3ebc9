// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.PoolUsage;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.disk.TieredPool;
import java.io.IOException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Demotion of the oldest map outputs to the disk tier, where they stay readable, while the memory is nearly full and
 * another shuffle is being written: that one then finds memory.
 *
 * <pre>
 *  output in memory --- copied to disk ---> readers are led to the copy --- grace ---> slot expires, memory is freed
 * </pre>
 *
 * <p>Readers who knew the place in memory go on there. Those who copy look at the slot again before the grace is over;
 * those who read in place compare the slot's generation after each read, and find that it has changed.
 *
 * <p><b>Threading:</b> one thread at a time.
 *
 * <p><b>Ownership:</b> owns nothing.
 */
public final class Demotion {
    private static final Logger LOG = LoggerFactory.getLogger(Demotion.class);

    /** Idle time after which a shuffle is complete, or slow enough to be read from disk. */
    static final Duration QUIET = Duration.ofSeconds(10);

    /** So far below the high-water mark demotion goes on, so that it does not begin again at once. */
    private static final int STEP_PERCENT = 15;

    private final TieredPool pool;
    private final MapOutputStore store;
    private final ShuffleCounters counters;
    private final int highPercent;
    private final Duration grace;
    private boolean refusalLogged;

    /**
     * Prepares.
     *
     * @param pool with a disk tier
     * @param highPercent of the memory that map outputs may take; filled above it, they are demoted
     * @param grace how long readers may take from looking an output up to the end of their read
     */
    public Demotion(TieredPool pool, MapOutputStore store, ShuffleCounters counters, int highPercent, Duration grace) {
        this.pool = pool;
        this.store = store;
        this.counters = counters;
        this.highPercent = highPercent;
        this.grace = grace;
    }

    /** Frees memory of earlier demotions, and demotes as many outputs as needed; ends on interrupt. */
    public void run() {
        store.freeLeft(grace);
        if (excessAbove(highPercent) <= 0) {
            return;
        }
        for (int shuffleId : store.resting(QUIET)) {
            for (MapOutput output : store.inMemory(shuffleId)) {
                boolean enough = excessAbove(Math.max(0, highPercent - STEP_PERCENT)) <= 0;
                if (enough || !demote(shuffleId, output)) {
                    return;
                }
            }
        }
    }

    /** Returns by how many bytes more than a share of their memory map outputs take, without what will be free soon. */
    private long excessAbove(int percent) {
        PoolUsage usage = pool.memory().usage();
        long room = usage.capBytes() - usage.setAsideBytes();
        long used = usage.usedByPurpose().getOrDefault(Purpose.MAP_OUTPUT, 0L) - store.leftBytes();
        // Not multiplied first: caps go up to a petabyte.
        return used - (room / 100 * percent + room % 100 * percent / 100);
    }

    /** Returns whether it makes sense to go on with another output. */
    private boolean demote(int shuffleId, MapOutput output) {
        if (!output.retain()) {
            return true;
        }
        try {
            long bytes = output.memoryBytes();
            MapOutput copy = DiskCopy.of(output, pool);
            if (copy == null) {
                refused();
                return false;
            }
            if (store.replace(shuffleId, output, copy)) {
                counters.add(ShuffleCounter.MAP_OUTPUTS_DEMOTED, 1);
                counters.add(ShuffleCounter.DEMOTED_BYTES, bytes);
            }
            return true;
        } catch (IOException e) {
            LOG.debug(
                    "Not demoting map output {} of shuffle {}, which cannot be read",
                    output.entry().mapId(),
                    shuffleId,
                    e);
            return true;
        } finally {
            output.release();
        }
    }

    private void refused() {
        if (!Thread.currentThread().isInterrupted() && !refusalLogged) {
            refusalLogged = true;
            LOG.warn("Cannot demote map outputs of the nearly full pool: the disk tier refuses writes; they stay in"
                    + " memory, and later ones become Spark's shuffle files (spark.shuffle.rdma.disk.minFree,"
                    + " spark.shuffle.rdma.pool.highWaterMark)");
        }
    }
}
