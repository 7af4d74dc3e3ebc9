// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import org.jspecify.annotations.Nullable;

/**
 * Codecs of frames.
 *
 * <p><b>Threading:</b> immutable.
 */
public enum FrameCodec {
    /** That of {@code spark.io.compression.codec}; LZ4 unless the user has set it. */
    APPLICATION(0),
    /** Zstandard: fewer bytes for more time. */
    ZSTD(1),
    /** Packed rows of Spark SQL; the application's codec for rows that are mostly strings. */
    ROWS(2);

    private final int number;

    FrameCodec(int number) {
        this.number = number;
    }

    /** Returns the code in a frame's header. */
    int number() {
        return number;
    }

    /** Returns the codec of a frame's header; null if there is none of that number. */
    static @Nullable FrameCodec of(int number) {
        return switch (number) {
            case 0 -> APPLICATION;
            case 1 -> ZSTD;
            case 2 -> ROWS;
            default -> null;
        };
    }
}
