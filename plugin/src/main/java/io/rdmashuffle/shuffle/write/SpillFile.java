// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A temporary file of runs, one after the other, of which any number can be read at a time with one descriptor.
 *
 * <p><b>Threading:</b> none; one thread at a time. <b>Ownership:</b> owns its file and deletes it on close.
 */
final class SpillFile implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SpillFile.class);
    private static final int WRITE_BUFFER_BYTES = 64 << 10;
    /** One for each run that is read. */
    private static final int READ_BUFFER_BYTES = 32 << 10;

    private final File path;
    private final RandomAccessFile file;
    private final List<Run> runs = new ArrayList<>();
    private long recordBytes;

    /** Content of a run. */
    @FunctionalInterface
    interface Content {
        /** Returns the index of its partitions; null if the run needs none. */
        @Nullable
        FrameIndex writeTo(OutputStream out) throws IOException;
    }

    private record Run(long start, long end, @Nullable FrameIndex index) {}

    /** Creates the file, which must not exist. */
    SpillFile(File path) throws IOException {
        this.path = path;
        this.file = new RandomAccessFile(path, "rw");
    }

    /**
     * Appends a run and returns its bytes; where that fails, the file has the runs that it had before.
     *
     * @param bytes of its records
     */
    long append(long bytes, Content content) throws IOException {
        long start = end();
        file.seek(start);
        // Not closed, which would close the file.
        OutputStream out = new BufferedOutputStream(new FileOutputStream(file.getFD()), WRITE_BUFFER_BYTES);
        FrameIndex index = content.writeTo(out);
        out.flush();
        Run run = new Run(start, file.getFilePointer(), index);
        runs.add(run);
        recordBytes += bytes;
        return run.end() - run.start();
    }

    private long end() {
        return runs.isEmpty() ? 0 : runs.get(runs.size() - 1).end();
    }

    /** Returns the number of runs. */
    int runs() {
        return runs.size();
    }

    /** Returns the bytes of the records of all runs. */
    long recordBytes() {
        return recordBytes;
    }

    /** Returns the index of a run's partitions; null if it needs none. */
    @Nullable
    FrameIndex index(int run) {
        return runs.get(run).index();
    }

    /** Opens a run; closing the result leaves the file alone. */
    InputStream open(int run) {
        return new BufferedInputStream(
                new Region(runs.get(run).start(), runs.get(run).end()), READ_BUFFER_BYTES);
    }

    /** Opens a part of a run, counted from its beginning, without a buffer; closing it leaves the file alone. */
    InputStream open(int run, long from, long to) {
        long start = runs.get(run).start();
        return new Region(start + from, start + to);
    }

    /** Drops all runs and releases their space. */
    void clear() throws IOException {
        runs.clear();
        recordBytes = 0;
        file.setLength(0);
    }

    @Override
    public String toString() {
        return path.toString();
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

    private final class Region extends InputStream {
        private long position;
        private final long end;

        Region(long start, long end) {
            this.position = start;
            this.end = end;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (position == end) {
                return -1;
            }
            file.seek(position);
            int count = file.read(target, offset, (int) Math.min(length, end - position));
            if (count < 0) {
                throw new EOFException(path + " ends at " + position + ", before the end of a run at " + end);
            }
            position += count;
            return count;
        }

        @Override
        public long skip(long bytes) {
            long skipped = Math.max(0, Math.min(bytes, end - position));
            position += skipped;
            return skipped;
        }
    }
}
