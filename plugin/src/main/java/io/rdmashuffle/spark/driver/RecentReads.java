// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.driver;

import java.util.concurrent.TimeUnit;

/**
 * Bytes and waits of tasks that read blocks of peers, and samples of compression by writers. Recent ones weigh most:
 * the sums are halved whenever they cover ten minutes of tasks, those of samples whenever they cover a gibibyte.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class RecentReads {
    /** Less says nothing: the first tasks of an application wait for connections. */
    private static final long ENOUGH_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private static final long WINDOW_MILLIS = TimeUnit.MINUTES.toMillis(10);
    private static final long WINDOW_BYTES = 1L << 30;
    private static final int PERCENT = 100;
    private static final double NANOS_PER_MILLI = 1e6;
    /** Bits per millisecond at one Mb/s. */
    private static final double BITS_PER_MILLI = 1e3;

    private long waitMillis;
    private long runMillis;
    private long remoteBytes;
    private long allBytes;

    private long sampledBytes;
    private long compressedBytes;
    private long codecNanos;

    /**
     * Counts a task.
     *
     * @param waited of the milliseconds that it ran
     * @param remote of its bytes, those of other executors
     */
    synchronized void add(long waited, long ran, long remote, long all) {
        waitMillis += waited;
        runMillis += ran;
        remoteBytes += remote;
        allBytes += all;
        if (runMillis >= WINDOW_MILLIS) {
            waitMillis /= 2;
            runMillis /= 2;
            remoteBytes /= 2;
            allBytes /= 2;
        }
    }

    /**
     * Counts a sample.
     *
     * @param compressed bytes of the sampled ones after compression, which took {@code nanos}
     */
    synchronized void addSample(long sampled, long compressed, long nanos) {
        sampledBytes += sampled;
        compressedBytes += compressed;
        codecNanos += nanos;
        if (sampledBytes >= WINDOW_BYTES) {
            sampledBytes /= 2;
            compressedBytes /= 2;
            codecNanos /= 2;
        }
    }

    /** Returns whether there are samples, and tasks that have read enough. */
    synchronized boolean areKnown() {
        return sampledBytes > 0 && runMillis >= ENOUGH_MILLIS;
    }

    /** Returns the share of bytes that compression saves. */
    synchronized double savedShare() {
        return sampledBytes == 0 ? 0 : Math.max(0, 1 - (double) compressedBytes / sampledBytes);
    }

    /** Returns the share of their time that tasks wait, in percent; 0 while no task has ended. */
    synchronized long waitPercent() {
        return runMillis == 0 ? 0 : PERCENT * waitMillis / runMillis;
    }

    /**
     * Returns the milliseconds of tasks that fewer bytes save: of the wait, but no more than the transfer takes.
     *
     * @param megabits of the network for each core
     * @param networked share of remote bytes that cross it
     * @param compressed whether blocks are compressed already, so that waits are not those of uncompressed ones; all of
     *     the transfer counts then
     */
    synchronized double savedMillis(double megabits, double networked, boolean compressed) {
        double transferMillis = networked * remoteBytes * Byte.SIZE / (megabits * BITS_PER_MILLI);
        return savedShare() * (compressed ? transferMillis : Math.min((double) waitMillis, transferMillis));
    }

    /**
     * Returns the milliseconds of tasks that the codec takes for all bytes, on both sides: as long as in samples, whose
     * code and caches are cold (ADR 31).
     */
    synchronized double codecMillis() {
        return sampledBytes == 0 ? 0 : (double) codecNanos / sampledBytes * allBytes / NANOS_PER_MILLI;
    }
}
