// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

/**
 * Takes serialised records by partition.
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RecordSink {
    /** Takes a record; false if there is no memory for it now, and then nothing has changed. */
    boolean add(int partition, byte[] record, int length);

    /** Takes a record with its length before it, as {@link UnsafeRowFormat} says; false as above. */
    boolean addPrefixed(int partition, Object base, long offset, int length);
}
