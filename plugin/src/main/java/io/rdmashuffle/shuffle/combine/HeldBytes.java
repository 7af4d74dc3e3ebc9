// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import org.apache.spark.util.SizeEstimator;
import org.jspecify.annotations.Nullable;

/**
 * What a collection that takes record after record holds of the heap. All of it is estimated whenever it has taken
 * twice as many records; in between it is forecast, from the growth before and from one of {@link #INTERVAL} records,
 * which shows when they become larger.
 *
 * <p>Spark's collections estimate all whenever they have taken a tenth more. With 20,000 records these are a hundred
 * estimates, of some two hundred records each; here they are fifteen.
 *
 * <p><b>Threading:</b> one thread.
 */
final class HeldBytes {
    /** Spark's collections look at what they hold as often. */
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
     * Takes note of one more record, and returns whether that makes too much.
     *
     * @param collection all of them
     * @param key what the record has added to the collection, about; null for nothing
     * @param value likewise
     */
    boolean isTooMuchWith(Object collection, @Nullable Object key, @Nullable Object value) {
        records++;
        if (records >= 2 * estimatedAt) {
            estimate(collection);
        } else if (records % INTERVAL == 0) {
            long added = INTERVAL * (SizeEstimator.estimate(key) + SizeEstimator.estimate(value));
            forecast += Math.max(INTERVAL * bytesPerRecord, added);
            if (forecast > room.bytes() && added <= room.bytes() && records - estimatedAt > estimatedAt / 10) {
                // To make sure, but not every time where the room is nearly taken. An estimate of all looks at some two
                // hundred records, and might miss the few that are so large that a group of them has no room.
                estimate(collection);
            }
        }
        return isTooMuch();
    }

    /** Returns whether what is held has no room, as far as is known. */
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
