// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;

/**
 * Makes bytes of records, one at a time, each before the next is pulled.
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RecordEncoder extends AutoCloseable {
    /** Takes the next record; what it refers to stays as it is until {@link #addTo} has said yes. */
    void encode(Object key, Object value) throws IOException;

    /** Appends the record to a partition; false if the sink has no memory for it, and then it may be tried again. */
    boolean addTo(RecordSink sink, int partition);

    /** Ends, after the last record. */
    @Override
    void close() throws IOException;
}
