// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.SliceCursor;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of one map output that another executor sends: in the pool, or in a temporary file once the pool is full.
 *
 * <p><b>Threading:</b> thread-safe: the bytes come on a thread of Spark's transport, and {@link #discard} on any.
 *
 * <p><b>Ownership:</b> owns the pool memory until {@link #toMapOutput} hands it over, and the file until it is
 * committed; {@link #discard} otherwise.
 */
final class IncomingData {
    private static final int BUFFER_BYTES = 1 << 20;
    private static final int COPY_BYTES = 64 << 10;

    private final OutputKey key;
    private final ChunkedOutput pooled;
    private final MigrationTarget target;
    private long lengthBytes;
    private @Nullable File file;
    private @Nullable FileChannel channel;
    private boolean gone;

    /** Creates the place for an output that has no byte yet. */
    IncomingData(OutputKey key, ChunkedOutput pooled, MigrationTarget target) {
        this.key = key;
        this.pooled = pooled;
        this.target = target;
    }

    /** Appends all of a buffer; what comes after {@link #discard} is ignored, because the sender cannot be stopped. */
    synchronized void append(ByteBuffer bytes) throws IOException {
        if (gone) {
            return;
        }
        lengthBytes += bytes.remaining();
        if (file == null) {
            pooled.append(bytes);
        }
        if (bytes.hasRemaining()) {
            FileChannel open = channel == null ? moveToFile() : channel;
            while (bytes.hasRemaining()) {
                open.write(bytes);
            }
        }
    }

    /** Ends the data after its last byte. */
    synchronized void finish() throws IOException {
        if (channel != null) {
            channel.close();
            channel = null;
        }
    }

    /**
     * Compares the bytes with what the sender says of them.
     *
     * @return CRC-32C by partition: the sender's, or if that has none, what arrived; empty for files without
     * @throws IOException if they are not what the writer wrote
     */
    synchronized int[] verified(MigratedIndex index) throws IOException {
        requireHere();
        if (lengthBytes != index.totalBytes()) {
            throw new IOException(
                    lengthBytes + " bytes of migrated " + key + " arrived, but its index says " + index.totalBytes());
        }
        int[] expected = index.checksums();
        if (file != null && expected == null) {
            return new int[0];
        }
        int[] found = file == null ? checksumsInPool(index.lengths()) : checksumsOf(file, index.lengths());
        if (expected != null && !Arrays.equals(found, expected)) {
            int partition = Arrays.mismatch(found, expected);
            throw new IOException("partition " + partition + " of migrated " + key + " arrived with a wrong checksum");
        }
        return found;
    }

    /**
     * Hands the bytes over as a map output in the pool; null if they are in a file, or the pool has no room for the
     * index.
     */
    synchronized @Nullable MapOutput toMapOutput(long[] lengths, int[] checksums) throws IOException {
        requireHere();
        MapOutput output = file == null ? pooled.toMapOutput(key.mapId(), lengths, checksums) : null;
        gone = output != null;
        return output;
    }

    /** Returns the bytes in a file, where they are moved if need be; null if there are none. Still owned by this. */
    synchronized @Nullable File toFile() throws IOException {
        requireHere();
        if (file == null && lengthBytes > 0) {
            moveToFile();
            finish();
        }
        return file;
    }

    /** Gives everything back; idempotent. A file that has been committed, and so renamed, stays. */
    synchronized void discard() {
        gone = true;
        pooled.discard();
        try {
            finish();
        } catch (IOException e) {
            // Its bytes are not wanted any more.
            channel = null;
        }
        if (file != null) {
            file.delete();
            file = null;
        }
    }

    private void requireHere() throws IOException {
        if (gone) {
            throw new IOException("migrated " + key + " has been dropped");
        }
    }

    private FileChannel moveToFile() throws IOException {
        target.requireDiskRoom();
        File created = target.createDataFile(key);
        file = created;
        FileChannel open = FileChannel.open(
                created.toPath(),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING);
        channel = open;
        write(pooled.slices(), open);
        pooled.discard();
        return open;
    }

    /** Writes slices of the pool to a file. */
    static void write(List<StoredSlice> slices, FileChannel to) throws IOException {
        byte[] buffer = new byte[COPY_BYTES];
        for (StoredSlice slice : slices) {
            for (long done = 0; done < slice.lengthBytes(); ) {
                int piece = (int) Math.min(buffer.length, slice.lengthBytes() - done);
                slice.getBytes(done, buffer, 0, piece);
                ByteBuffer bytes = ByteBuffer.wrap(buffer, 0, piece);
                while (bytes.hasRemaining()) {
                    to.write(bytes);
                }
                done += piece;
            }
        }
    }

    private int[] checksumsInPool(long[] lengths) throws IOException {
        SliceCursor cursor = new SliceCursor(pooled.slices());
        int[] checksums = new int[lengths.length];
        for (int p = 0; p < lengths.length; p++) {
            checksums[p] = Crc32c.of(cursor.take(lengths[p]));
        }
        return checksums;
    }

    private static int[] checksumsOf(File file, long[] lengths) throws IOException {
        int[] checksums = new int[lengths.length];
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        try (FileChannel in = FileChannel.open(file.toPath(), StandardOpenOption.READ)) {
            for (int p = 0; p < lengths.length; p++) {
                CRC32C crc = new CRC32C();
                for (long left = lengths[p]; left > 0; left -= buffer.limit()) {
                    buffer.clear().limit((int) Math.min(left, BUFFER_BYTES));
                    while (buffer.hasRemaining()) {
                        if (in.read(buffer) < 0) {
                            throw new IOException(file + " has been truncated");
                        }
                    }
                    crc.update(buffer.flip());
                }
                checksums[p] = (int) crc.getValue();
            }
        }
        return checksums;
    }
}
