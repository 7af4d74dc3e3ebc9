// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Meter of reads over connections: starts, ends and latencies.
 *
 * <p><b>Threading:</b> thread-safe; counting makes no garbage.
 */
public final class ReadMeter {
    private final LongAdder begun = new LongAdder();
    private final LongAdder ended = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder retried = new LongAdder();
    private final LongAdder opened = new LongAdder();
    private final LongAdder closed = new LongAdder();
    private final LongAdder lost = new LongAdder();
    private final ReadRate rate = new ReadRate();
    private final AtomicLongArray latencies = new AtomicLongArray(Latencies.BUCKETS);

    /** Counts a read that begins. */
    public void begun() {
        begun.increment();
        rate.begun(System.nanoTime());
    }

    /**
     * Counts a read whose bytes have arrived.
     *
     * @param startedNanos {@link System#nanoTime()} at its beginning
     * @param nowNanos {@link System#nanoTime()} at its end
     */
    public void succeeded(long bytes, long startedNanos, long nowNanos) {
        ended.increment();
        rate.succeeded(bytes, nowNanos);
        latencies.incrementAndGet(Latencies.bucket(nowNanos - startedNanos));
    }

    /** Counts a read that has failed for good. */
    public void failed() {
        ended.increment();
        rate.failed();
        failed.increment();
    }

    /** Counts a read that starts again. */
    public void retried() {
        retried.increment();
    }

    /** Counts a connection that is open now. */
    public void connectionOpened() {
        opened.increment();
    }

    /** Counts the end of a connection, whatever the reason. */
    public void connectionClosed() {
        closed.increment();
    }

    /** Counts a connection that is given up after an error or a deadline, beside its end. */
    public void connectionLost() {
        lost.increment();
    }

    /** Returns the counts, with the given bytes in flight, which are counted elsewhere. */
    public FabricLoad load(long bytesInFlight) {
        // Ends are read first, so that no difference is negative.
        long reads = ended.sum();
        long connections = closed.sum();
        long made = opened.sum();
        return new FabricLoad(
                begun.sum() - reads,
                bytesInFlight,
                retried.sum(),
                failed.sum(),
                made - connections,
                made,
                lost.sum(),
                rate.bytesPerSecond(System.nanoTime()));
    }

    /** Returns the latencies of successful reads. */
    public Latencies latencies() {
        long[] counts = new long[Latencies.BUCKETS];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = latencies.get(i);
        }
        return Latencies.of(counts);
    }
}
