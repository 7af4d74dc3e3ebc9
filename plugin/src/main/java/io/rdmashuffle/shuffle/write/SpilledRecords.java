// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records that memory could not hold: spill after spill in one file, and in each spill partition after
 * partition. A task that gets next to no memory spills thousands of times, and may have only so many files open.
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns its file and deletes it on close.
 */
final class SpilledRecords implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SpilledRecords.class);
    private static final int BUFFER_BYTES = 64 << 10;

    private final File path;
    private final int partitions;
    private final RandomAccessFile file;
    /** Of each spill: where its partitions begin, and where the last one ends. */
    private final List<long[]> spills = new ArrayList<>();

    private long lengthBytes;

    /** Creates the file, which must not exist. */
    SpilledRecords(File path, int partitions) throws IOException {
        this.path = path;
        this.partitions = partitions;
        this.file = new RandomAccessFile(path, "rw");
    }

    /** Appends all records of a buffer; returns their bytes. After a failure this object must be closed. */
    long add(PartitionedRecordBuffer records) throws IOException {
        long[] starts = new long[partitions + 1];
        long start = lengthBytes;
        byte[] buffer = new byte[BUFFER_BYTES];
        file.seek(start);
        // Not closed, which would close the file.
        OutputStream out = new BufferedOutputStream(new FileOutputStream(file.getFD()), BUFFER_BYTES);
        for (int p = 0; p < partitions; p++) {
            starts[p] = lengthBytes;
            lengthBytes += records.has(p) ? records.writeTo(out, p, buffer) : 0;
        }
        out.flush();
        starts[partitions] = lengthBytes;
        spills.add(starts);
        return lengthBytes - start;
    }

    /** Returns the bytes of all spills. */
    long lengthBytes() {
        return lengthBytes;
    }

    boolean has(int partition) {
        for (long[] starts : spills) {
            if (starts[partition + 1] > starts[partition]) {
                return true;
            }
        }
        return false;
    }

    /** Writes the records of a partition in the order in which they came, through a buffer. */
    void writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
        for (long[] starts : spills) {
            long left = starts[partition + 1] - starts[partition];
            if (left > 0) {
                file.seek(starts[partition]);
            }
            while (left > 0) {
                int read = file.read(buffer, 0, (int) Math.min(left, buffer.length));
                if (read < 0) {
                    throw new EOFException(path + " ends " + left + " bytes before the end of partition " + partition);
                }
                out.write(buffer, 0, read);
                left -= read;
            }
        }
    }

    @Override
    public void close() {
        try {
            file.close();
        } catch (IOException e) {
            LOG.warn("Cannot close {}", path, e);
        }
        if (!path.delete() && path.exists()) {
            LOG.warn("Cannot delete {}", path);
        }
    }
}
