package io.rdmashuffle.shuffle.direct;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a scratch held when there was no more memory, in a file, partition after partition.
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns its file and deletes it on close.
 */
final class SpilledRecords implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SpilledRecords.class);
    private static final int BUFFER_BYTES = 64 << 10;

    private final File file;
    private final long[] lengths;

    private SpilledRecords(File file, long[] lengths) {
        this.file = file;
        this.lengths = lengths;
    }

    /** Writes everything that a scratch holds to a file of the caller's choice, which must not exist. */
    static SpilledRecords write(RecordScratch scratch, int partitions, File file) throws IOException {
        SpilledRecords spilled = new SpilledRecords(file, new long[partitions]);
        byte[] buffer = new byte[BUFFER_BYTES];
        boolean written = false;
        try (OutputStream out = new BufferedOutputStream(new FileOutputStream(file), BUFFER_BYTES)) {
            for (int p = 0; p < partitions; p++) {
                spilled.lengths[p] = scratch.has(p) ? scratch.writeTo(out, p, buffer) : 0;
            }
            written = true;
        } finally {
            if (!written) {
                spilled.close();
            }
        }
        return spilled;
    }

    long lengthBytes() {
        return file.length();
    }

    /** Opens the file at its start; partitions are read one after the other. The caller closes the reader. */
    Reader open() throws IOException {
        return new Reader(new BufferedInputStream(new FileInputStream(file), BUFFER_BYTES));
    }

    boolean has(int partition) {
        return lengths[partition] > 0;
    }

    @Override
    public void close() {
        if (!file.delete() && file.exists()) {
            LOG.warn("cannot delete {}", file);
        }
    }

    /** Reads partitions in order. */
    final class Reader implements AutoCloseable {
        private final InputStream in;

        private Reader(InputStream in) {
            this.in = in;
        }

        /** Copies the next partition's bytes. */
        void writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
            for (long left = lengths[partition]; left > 0; ) {
                int read = in.read(buffer, 0, (int) Math.min(left, buffer.length));
                if (read < 0) {
                    throw new EOFException(file + " ends " + left + " bytes before the end of partition " + partition);
                }
                out.write(buffer, 0, read);
                left -= read;
            }
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
