// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;

/**
 * Collector of serialised records by partition, which spills whatever memory cannot hold.
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RecordSink {
    /** Longest part of a record that is handed over at once, so that no array grows to the size of a record. */
    int MAX_PART_BYTES = 256 << 10;

    /**
     * Appends a record, or the next part of one.
     *
     * @param length at most {@link #MAX_PART_BYTES}
     * @param before bytes of the same record that were appended before, 0 for a whole record
     * @throws IOException if the records have to be spilled and that fails
     */
    void append(int partition, byte[] part, int length, long before) throws IOException;

    /**
     * Appends a record of any length with its length before it, as {@link UnsafeRowFormat} says.
     *
     * @throws IOException as above
     */
    void appendPrefixed(int partition, Object base, long offset, int length) throws IOException;
}
