// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.concurrent.TimeUnit;

/**
 * Throughput of a network while reads use it: bytes that arrive, over the time in which at least one read is in flight.
 *
 * <p>A busy period with less than {@value #MIN_PERIOD_BYTES} bytes is left out, since its time is latency, and so is
 * one in which a read failed. Periods are not chosen by their duration, which would prefer reads that waited for a
 * processor. Recent periods weigh most: the sums are halved whenever they cover two seconds, and
 * forgotten after five minutes.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class ReadRate {
    private static final long MIN_PERIOD_BYTES = 128 << 10;
    private static final long LONGEST_PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(2);
    private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(5);
    /** With this many bytes, or half a window, the rate is known. */
    private static final long ENOUGH_BYTES = 16 << 20;

    private static final double NANOS_PER_SECOND = 1e9;

    private int inFlight;
    private long periodStartNanos;
    private long periodBytes;
    private boolean failed;
    private long windowNanos;
    private long windowBytes;
    private long windowEndNanos;

    /** Counts a read that begins. */
    synchronized void begun(long nowNanos) {
        if (inFlight++ == 0) {
            startPeriod(nowNanos);
        }
    }

    /** Counts a read whose bytes have all arrived. */
    synchronized void succeeded(long bytes, long nowNanos) {
        periodBytes += bytes;
        inFlight--;
        if (inFlight == 0 || nowNanos - periodStartNanos >= LONGEST_PERIOD_NANOS) {
            endPeriod(nowNanos);
        }
    }

    /** Counts the end of a read that has failed. */
    synchronized void failed() {
        inFlight--;
        failed = true;
    }

    private void startPeriod(long nowNanos) {
        periodStartNanos = nowNanos;
        periodBytes = 0;
        failed = false;
    }

    private void endPeriod(long nowNanos) {
        long lasted = nowNanos - periodStartNanos;
        if (periodBytes >= MIN_PERIOD_BYTES && !failed) {
            windowBytes += periodBytes;
            windowNanos += lasted;
            windowEndNanos = nowNanos;
            if (windowNanos >= WINDOW_NANOS) {
                windowBytes /= 2;
                windowNanos /= 2;
            }
        }
        startPeriod(nowNanos);
    }

    /** Returns bytes a second; 0 while too few have arrived to tell. */
    synchronized long bytesPerSecond(long nowNanos) {
        if (windowNanos > 0 && nowNanos - windowEndNanos > KEPT_NANOS) {
            windowNanos = 0;
            windowBytes = 0;
        }
        boolean isKnown = windowNanos > 0 && (windowBytes >= ENOUGH_BYTES || windowNanos >= WINDOW_NANOS / 2);
        return isKnown ? (long) (windowBytes * NANOS_PER_SECOND / windowNanos) : 0;
    }
}
