// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;

/**
 * Spark's codecs of frames.
 *
 * <p><b>Threading:</b> thread-safe, as Spark's codecs are.
 *
 * @param application {@link FrameCodec#APPLICATION}, the same in the whole application
 * @param small the same with buffers for a first frame: Spark's LZ4 makes two of 32 KiB for each stream otherwise, and
 *     the first frame of a block is often its only one
 * @param zstd {@link FrameCodec#ZSTD}
 */
record FrameCodecs(CompressionCodec application, CompressionCodec small, CompressionCodec zstd) {
    /** Blocks of many a shuffle are small; their first frame need not take a whole frame's room. */
    static final int FIRST_FRAME_BYTES = 4 << 10;

    static FrameCodecs of(SparkConf conf) {
        SparkConf small = conf.clone();
        for (String each : List.of("lz4", "snappy")) {
            small.set("spark.io.compression." + each + ".blockSize", FIRST_FRAME_BYTES + "b");
        }
        return new FrameCodecs(
                CompressionCodec$.MODULE$.createCodec(conf),
                CompressionCodec$.MODULE$.createCodec(small),
                CompressionCodec$.MODULE$.createCodec(conf, "zstd"));
    }

    /** Returns the reader of frames that are not packed rows. */
    CompressionCodec reader(FrameCodec with) {
        return with == FrameCodec.ZSTD ? zstd : application;
    }

    /** Returns the writer of an unpacked frame with that number of bytes. */
    CompressionCodec writer(FrameCodec with, int bytes) {
        return with != FrameCodec.ZSTD && bytes <= FIRST_FRAME_BYTES ? small : reader(with);
    }
}
