// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.conf.DiskCompression;
import io.rdmashuffle.shuffle.format.FrameCodec;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Choice of the codec for a map output that goes to the disk tier: none, or the codec with the least time for codec and
 * disk together. Both are measured: the disk by all writes, codecs by recent outputs. As long as the page cache absorbs
 * writes, nothing is compressed.
 *
 * <p>Once the disk is slow enough, each codec is tried, at first often and then for one output in
 * {@link #PROBE_INTERVAL}, because its ratio depends on the data.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class CompressionChoice {
    /**
     * Bytes written to a disk that blocks writers are read from it, too, because the page cache could not keep them.
     */
    private static final double DISK_PASSES = 2;
    /** Decompressing takes about half as long as compressing. */
    private static final double CODEC_PASSES = 1.5;
    /** With a disk that takes a gigabyte a second of one task, no codec of Spark's gains anything. */
    private static final double MIN_PROBED_NANOS_PER_BYTE = 1;

    static final int PROBE_INTERVAL = 32;

    private final DiskCompression mode;
    private final Map<FrameCodec, Pace> codecs = new EnumMap<>(FrameCodec.class);
    private long outputs;

    /** Recent time and ratio of a codec; empty at first. */
    private static final class Pace {
        /** Older map outputs weigh less with every byte. */
        private static final double MEMORY_BYTES = 4 << 20;

        private long tries;
        private long due;
        private long interval = 1;
        private double nanosPerByte;
        private double storedPerByte;

        boolean isDue(long output) {
            if (output < due) {
                return false;
            }
            interval = Math.min(PROBE_INTERVAL, 2 * interval);
            due = output + interval;
            return true;
        }

        void add(long rawBytes, long storedBytes, long nanos, long output) {
            due = output + interval;
            tries++;
            if (isKnown()) {
                double weight = tries == 2 ? 1 : Math.min(1, rawBytes / MEMORY_BYTES);
                nanosPerByte += weight * ((double) nanos / rawBytes - nanosPerByte);
                storedPerByte += weight * ((double) storedBytes / rawBytes - storedPerByte);
            }
        }

        /** The first output took what loading the codec's classes and libraries takes, too. */
        boolean isKnown() {
            return tries > 1;
        }

        double nanosWith(double writeNanosPerByte) {
            return CODEC_PASSES * nanosPerByte + DISK_PASSES * writeNanosPerByte * storedPerByte;
        }
    }

    /**
     * Starts without figures.
     *
     * @param mayChooseCodec whether the user has left the codec to us
     */
    public CompressionChoice(DiskCompression mode, boolean mayChooseCodec) {
        this.mode = mode;
        codecs.put(FrameCodec.APPLICATION, new Pace());
        if (mayChooseCodec) {
            codecs.put(FrameCodec.ZSTD, new Pace());
            codecs.put(FrameCodec.ROWS, new Pace());
        }
    }

    /**
     * Returns the default codec without measurements: fast, with a good ratio.
     *
     * @param rows whether the records are rows of Spark SQL
     */
    FrameCodec standard(boolean rows) {
        return rows && codecs.containsKey(FrameCodec.ROWS) ? FrameCodec.ROWS : FrameCodec.APPLICATION;
    }

    /**
     * Returns the codec for the next map output; null for uncompressed records.
     *
     * @param writeNanosPerByte recent time per byte written to the disk tier
     * @param rows whether the records are rows of Spark SQL
     */
    synchronized @Nullable FrameCodec next(double writeNanosPerByte, boolean rows) {
        return switch (mode) {
            case ALWAYS -> standard(rows);
            case NEVER -> null;
            case AUTO -> writeNanosPerByte < MIN_PROBED_NANOS_PER_BYTE ? null : nextSlow(writeNanosPerByte, rows);
        };
    }

    private @Nullable FrameCodec nextSlow(double writeNanosPerByte, boolean rows) {
        outputs++;
        for (Map.Entry<FrameCodec, Pace> each : codecs.entrySet()) {
            if (suits(each.getKey(), rows) && each.getValue().isDue(outputs)) {
                return each.getKey();
            }
        }
        return best(writeNanosPerByte, rows);
    }

    private @Nullable FrameCodec best(double writeNanosPerByte, boolean rows) {
        FrameCodec best = null;
        double least = DISK_PASSES * writeNanosPerByte;
        for (Map.Entry<FrameCodec, Pace> each : codecs.entrySet()) {
            double nanos = each.getValue().nanosWith(writeNanosPerByte);
            if (suits(each.getKey(), rows) && each.getValue().isKnown() && nanos < least) {
                least = nanos;
                best = each.getKey();
            }
        }
        return best;
    }

    private static boolean suits(FrameCodec codec, boolean rows) {
        return rows || codec != FrameCodec.ROWS;
    }

    /** Records a compressed output. */
    synchronized void compressed(FrameCodec codec, long rawBytes, long storedBytes, long nanos) {
        Pace pace = codecs.get(codec);
        if (pace != null && rawBytes > 0) {
            pace.add(rawBytes, storedBytes, nanos, outputs);
        }
    }
}
