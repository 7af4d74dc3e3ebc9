// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.Arrays;

/**
 * Histogram of latencies: counts by ranges of time, two for each doubling, from a microsecond to two minutes. Those of
 * several processes add up to those of all.
 *
 * <pre>
 *  bucket   0      1, 2       3        4        5        6       ..   56
 *  micros  < 1   1 to < 2  2 to < 3  3 to < 4  4 to < 6  6 to < 8  ..  everything above
 * </pre>
 *
 * <p><b>Threading:</b> immutable.
 */
public final class Latencies {
    /** Number of ranges. */
    public static final int BUCKETS = 57;

    /** No events. */
    public static final Latencies NONE = new Latencies(new long[0]);

    private final long[] counts;

    private Latencies(long[] counts) {
        this.counts = counts;
    }

    /** Returns these counts by range; ranges missing at the end count none, those after the last are dropped. */
    public static Latencies of(long[] counts) {
        int used = Math.min(counts.length, BUCKETS);
        while (used > 0 && counts[used - 1] == 0) {
            used--;
        }
        return used == 0 ? NONE : new Latencies(Arrays.copyOf(counts, used));
    }

    /** Returns the range of a time. */
    static int bucket(long nanos) {
        long micros = nanos / 1000;
        if (micros <= 0) {
            return 0;
        }
        int doublings = 63 - Long.numberOfLeadingZeros(micros);
        int upper = doublings == 0 ? 0 : (int) (micros >>> (doublings - 1)) & 1;
        return Math.min(BUCKETS - 1, 1 + 2 * doublings + upper);
    }

    /** Returns the time in microseconds that none in a range reached, but for the last range, which has no end. */
    public static long endMicros(int bucket) {
        if (bucket == 0) {
            return 1;
        }
        int doublings = (bucket - 1) / 2;
        long start = 1L << doublings;
        return (bucket - 1) % 2 == 0 ? start + Math.max(1, start / 2) : 2 * start;
    }

    /** Returns a copy of the counts by range, without those at the end that are zero. */
    public long[] counts() {
        return counts.clone();
    }

    /** Returns the number of events. */
    public long total() {
        return Arrays.stream(counts).sum();
    }

    /** Returns a time in microseconds that this part of the events, between 0 and 1, stayed below; 0 without events. */
    public long quantileMicros(double part) {
        long wanted = Math.max(1, (long) Math.ceil(part * total()));
        long seen = 0;
        for (int i = 0; i < counts.length; i++) {
            seen += counts[i];
            if (seen >= wanted) {
                return endMicros(i);
            }
        }
        return 0;
    }

    /** Returns the events of both. */
    public Latencies plus(Latencies more) {
        long[] sum = Arrays.copyOf(counts, Math.max(counts.length, more.counts.length));
        for (int i = 0; i < more.counts.length; i++) {
            sum[i] += more.counts[i];
        }
        return of(sum);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Latencies that && Arrays.equals(counts, that.counts);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(counts);
    }

    @Override
    public String toString() {
        return total() + " events, half of them below " + quantileMicros(0.5) + " us";
    }
}
