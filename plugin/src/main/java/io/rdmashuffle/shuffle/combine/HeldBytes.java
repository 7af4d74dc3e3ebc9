// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import org.apache.spark.util.SizeEstimator;
import org.jspecify.annotations.Nullable;

/**
 * Estimate of the heap that a growing collection holds. All of it is estimated whenever it has taken twice as many
 * records; in between it is forecast, from the growth before and from one of {@link #INTERVAL} records, which shows
 * when they become larger.
 *
 * <p>Spark's collections estimate all whenever they have taken a tenth more. With 20,000 records these are a hundred
 * estimates, of some two hundred records each; here they are fifteen.
 *
 * <p><b>Threading:</b> one thread.
 */
final class HeldBytes {
    /** Same interval as in Spark's collections. */
    private static final int INTERVAL = 32;

    private final FreeRoom room;
    private long records;
    private long forecast;
    private long estimatedAt;
    private long estimated;
    private long bytesPerRecord;

    HeldBytes(FreeRoom room) {
        this.room = room;
    }

    /**
     * Records another record; returns whether the limit is exceeded.
     *
     * @param collection all of them
     * @param key estimated addition to the collection; null for nothing
     * @param value the same for the value
     */
    boolean isTooMuchWith(Object collection, @Nullable Object key, @Nullable Object value) {
        records++;
        if (records >= 2 * estimatedAt) {
            estimate(collection);
        } else if (records % INTERVAL == 0) {
            long added = INTERVAL * (SizeEstimator.estimate(key) + SizeEstimator.estimate(value));
            forecast += Math.max(INTERVAL * bytesPerRecord, added);
            if (forecast > room.bytes() && added <= room.bytes() && records - estimatedAt > estimatedAt / 10) {
                // A full estimate confirms it, but not each time near the limit. It samples two hundred records, and
                // might miss a few large ones that exceed the limit together.
                estimate(collection);
            }
        }
        return isTooMuch();
    }

    /** Returns whether the estimate exceeds the limit. */
    boolean isTooMuch() {
        return forecast > room.bytes() || records > room.records();
    }

    private void estimate(Object collection) {
        long bytes = SizeEstimator.estimate(collection);
        bytesPerRecord = Math.max(0, (bytes - estimated) / (records - estimatedAt));
        estimated = bytes;
        estimatedAt = records;
        forecast = bytes;
    }

    /** Returns the bytes that are held, as far as is known. */
    long bytes() {
        return forecast;
    }
}
