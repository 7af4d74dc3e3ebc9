// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Durations of sequential reads from a peer: less than a device or a network does with many outstanding.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param medianNanos of small reads
 * @param bytesPerSecond of large reads
 */
public record ReadTimes(long medianNanos, double bytesPerSecond) {
    /** Bytes that take as long as an empty read. */
    public static final int SMALL_BYTES = 64;

    private static final int MOST_SMALL = 100;
    private static final int MOST_LARGE = 1000;
    private static final int WARM_UP = 20;
    private static final long MEASURED_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** Something that can be read again and again. */
    @FunctionalInterface
    public interface Read {
        /** Reads it, and returns when its bytes are here. */
        void once() throws IOException;
    }

    /**
     * Reads in the calling thread, for 0.6 s at most; at least one of each, however long it takes.
     *
     * @throws IOException as a read does
     */
    public static ReadTimes measure(Read small, Read large, long largeBytes) throws IOException {
        long begun = System.nanoTime();
        for (int i = 0; i < WARM_UP && (i == 0 || System.nanoTime() - begun < MEASURED_NANOS); i++) {
            small.once();
        }
        long median = medianNanos(small);
        large.once();
        return new ReadTimes(median, largeBytes * timesPerSecond(large));
    }

    private static long medianNanos(Read read) throws IOException {
        long[] nanos = new long[MOST_SMALL];
        int count = 0;
        long begun = System.nanoTime();
        while (count < MOST_SMALL && (count == 0 || System.nanoTime() - begun < MEASURED_NANOS)) {
            long before = System.nanoTime();
            read.once();
            nanos[count++] = System.nanoTime() - before;
        }
        Arrays.sort(nanos, 0, count);
        return nanos[count / 2];
    }

    private static double timesPerSecond(Read read) throws IOException {
        int count = 0;
        long begun = System.nanoTime();
        while (count < MOST_LARGE && (count == 0 || System.nanoTime() - begun < MEASURED_NANOS)) {
            read.once();
            count++;
        }
        return (double) count * TimeUnit.SECONDS.toNanos(1) / (System.nanoTime() - begun);
    }
}
