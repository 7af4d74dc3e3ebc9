// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The records of one spill, or of several that were merged, while they are read from the first partition to the last.
 * Small ones are {@linkplain StreamedRun one compressed stream}; where partitions are large enough to be compressed
 * each, they are {@linkplain FramedRun frames}, which a map output takes over as they are.
 *
 * <p><b>Threading:</b> none; one thread at a time.
 */
interface SpillRun extends AutoCloseable {
    /** Goes to a partition, past all before it; returns whether it has records. False if it was passed already. */
    boolean moveTo(int wanted) throws IOException;

    /** Returns the bytes of records that are left of the partition. */
    long left();

    /**
     * Writes the rest of the partition, through a buffer.
     *
     * @param out positioned at the end of a record; if it is a stream of
     *     {@link io.rdmashuffle.shuffle.format.Frames#compress}, frames are copied without decompression
     */
    void writeTo(OutputStream out, byte[] buffer) throws IOException;

    @Override
    void close() throws IOException;

    /**
     * Writer of a run at the end of a file.
     *
     * <p><b>Threading:</b> none; one thread at a time.
     */
    interface Writer extends Closeable {
        /**
         * Begins a partition, above those before; the caller closes the result before the next.
         *
         * @param bytes of all its records, at least one
         */
        OutputStream begin(int partition, long bytes) throws IOException;

        /** Ends the run; returns where in it partitions are, null if it tells so itself. */
        @Nullable
        FrameIndex end() throws IOException;

        /** Releases the write buffers, and leaves the file open. */
        @Override
        void close() throws IOException;
    }
}
