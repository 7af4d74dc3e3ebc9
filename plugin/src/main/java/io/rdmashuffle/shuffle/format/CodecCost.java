// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

/**
 * Time and sizes of compressing the blocks of one map output.
 *
 * <p><b>Threading:</b> none; for one task thread.
 */
public final class CodecCost {
    private long rawBytes;
    private long storedBytes;
    private long nanos;

    void add(long raw, long stored, long took) {
        rawBytes += raw;
        storedBytes += stored;
        nanos += took;
    }

    /** Returns the number of input bytes. */
    public long rawBytes() {
        return rawBytes;
    }

    /** Returns the compressed bytes, headers included. */
    public long storedBytes() {
        return storedBytes;
    }

    /** Returns the time of the codec. */
    public long nanos() {
        return nanos;
    }
}
