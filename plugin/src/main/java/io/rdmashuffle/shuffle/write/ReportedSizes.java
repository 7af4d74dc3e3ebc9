// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.shuffle.DirectShuffleHandle;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Sizes of uncompressed blocks that Spark receives: estimates of sort shuffle's compressed sizes, because adaptive
 * execution plans by them, with limits for compressed bytes. The ratio of a shuffle is sampled on a few blocks of some
 * map outputs.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class ReportedSizes {
    /** Number of first map outputs of a shuffle that are all measured. */
    private static final int FIRST_OUTPUTS = 4;

    private static final int INTERVAL = 64;
    /** Most shuffles whose first outputs are remembered; a forgotten one is measured again. */
    private static final int MAX_SHUFFLES = 512;
    /**
     * Spark's transfer sends no more than 2 GiB at once. It sends a larger block in pieces to a reader that was told
     * that it is large.
     */
    private static final long LARGE_BYTES = 1L << 30;

    private final ShuffleCounters counters;
    private final Map<Integer, Measured> shuffles = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Measured> eldest) {
            return size() > MAX_SHUFFLES;
        }
    };

    private static final class Measured {
        private long outputs;
        private long headerBytes;
        private long rawBytes;
        private long compressedBytes;

        /** A block that does not compress grows by the headers only. */
        double ratio() {
            return rawBytes == 0 ? 1 : Math.min(1, (double) compressedBytes / rawBytes);
        }
    }

    /**
     * Starts without a sample.
     *
     * @param counters count the samples of all shuffles
     */
    public ReportedSizes(ShuffleCounters counters) {
        this.counters = counters;
    }

    /** Returns whether to measure the next map output of a shuffle. */
    synchronized boolean wantsSample(int shuffleId) {
        long output = shuffles.computeIfAbsent(shuffleId, id -> new Measured()).outputs++;
        return output < FIRST_OUTPUTS || output % INTERVAL == 0;
    }

    /**
     * Adds a sample of the blocks of a map output.
     *
     * @param outputBytes uncompressed bytes of the output, for all of which the sample is counted
     */
    void add(int shuffleId, BlockSample sample, long outputBytes) {
        if (sample.rawBytes() > 0) {
            double scale = (double) outputBytes / sample.rawBytes();
            counters.add(ShuffleCounter.SAMPLED_BYTES, outputBytes);
            counters.add(ShuffleCounter.SAMPLED_COMPRESSED_BYTES, Math.round(scale * sample.framedBytes()));
            counters.add(ShuffleCounter.SAMPLED_NANOS, Math.round(scale * sample.nanos()));
        }
        add(shuffleId, sample.headerBytes(), sample.rawBytes(), sample.compressedBytes());
    }

    /**
     * Adds a sample.
     *
     * @param headerBytes what the codec adds to each block
     * @param compressedBytes without those
     */
    synchronized void add(int shuffleId, long headerBytes, long rawBytes, long compressedBytes) {
        Measured measured = shuffles.computeIfAbsent(shuffleId, id -> new Measured());
        measured.headerBytes = headerBytes;
        measured.rawBytes += rawBytes;
        measured.compressedBytes += compressedBytes;
    }

    /** Returns the sizes to report: none is 0 that has a record, and none of a large block is very small. */
    long[] of(int shuffleId, long[] lengths) {
        long headerBytes;
        double ratio;
        synchronized (this) {
            Measured measured = shuffles.getOrDefault(shuffleId, new Measured());
            headerBytes = measured.headerBytes;
            ratio = measured.ratio();
        }
        long[] reported = new long[lengths.length];
        for (int i = 0; i < lengths.length; i++) {
            long least = lengths[i] > LARGE_BYTES ? lengths[i] / DirectShuffleHandle.SIZE_FACTOR : 1;
            reported[i] = lengths[i] == 0 ? 0 : Math.max(least, headerBytes + Math.round(lengths[i] * ratio));
        }
        return reported;
    }
}
