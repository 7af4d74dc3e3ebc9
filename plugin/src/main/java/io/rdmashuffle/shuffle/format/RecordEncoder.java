// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.Closeable;
import java.io.IOException;

/**
 * Serializer of records, one at a time, each before the next is pulled.
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RecordEncoder extends Closeable {
    /**
     * Appends a record to a partition. A large one reaches the sink in parts, so it needs no memory of its size; a
     * record that cannot be serialised may leave parts there.
     */
    void write(int partition, Object key, Object value, RecordSink sink) throws IOException;

    /** Ends after the last record, or after one that failed; then nothing is written any more. */
    @Override
    void close() throws IOException;
}
