// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

/**
 * What compressing the blocks of one map output has cost and brought.
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

    /** Returns how many bytes were compressed. */
    public long rawBytes() {
        return rawBytes;
    }

    /** Returns what they became, headers included. */
    public long storedBytes() {
        return storedBytes;
    }

    /** Returns how long the codec took. */
    public long nanos() {
        return nanos;
    }
}
