// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One of the two blocks of a map output that another executor sends, from its first byte until its map output is taken
 * over.
 *
 * <p><b>Threading:</b> for one thread of Spark's transport; {@link #discard} from any.
 *
 * <p><b>Ownership:</b> owns the received bytes until {@link #discard}.
 */
abstract sealed class IncomingBlock implements StreamCallbackWithID {
    private static final Logger LOG = LoggerFactory.getLogger(IncomingBlock.class);

    private final String name;
    private final OutputKey key;
    private final int epoch;
    private final MigrationTarget target;
    private final Owner owner;
    private volatile long touchedNanos = System.nanoTime();

    private IncomingBlock(String name, OutputKey key, int epoch, MigrationTarget target, Owner owner) {
        this.name = name;
        this.key = key;
        this.epoch = epoch;
        this.target = target;
        this.owner = owner;
    }

    /** Listener of the ends of blocks. */
    interface Owner {
        /**
         * The last byte has arrived.
         *
         * @throws IOException if the output cannot be taken over; the sender gets the failure
         */
        void completed(IncomingBlock block) throws IOException;

        /** The block will not be complete, or could not be taken over. */
        void failed(IncomingBlock block);
    }

    OutputKey key() {
        return key;
    }

    /** Returns the epoch of the shuffle in which it began, see {@link MapOutputStore#epoch}. */
    int epoch() {
        return epoch;
    }

    MigrationTarget target() {
        return target;
    }

    /** Returns the time since the last byte arrived. */
    long idleNanos() {
        return System.nanoTime() - touchedNanos;
    }

    /** Releases everything; idempotent. */
    abstract void discard();

    /** Appends all of a buffer. */
    abstract void append(ByteBuffer bytes) throws IOException;

    /** Ends the block after its last byte. */
    abstract void finish() throws IOException;

    @Override
    public String getID() {
        return name;
    }

    @Override
    public void onData(String streamId, ByteBuffer bytes) throws IOException {
        touchedNanos = System.nanoTime();
        append(bytes);
    }

    @Override
    public void onComplete(String streamId) throws IOException {
        touchedNanos = System.nanoTime();
        finish();
        owner.completed(this);
    }

    @Override
    public void onFailure(String streamId, Throwable cause) {
        LOG.warn("Cannot accept migrated block {}; its sender tries another executor", name, cause);
        owner.failed(this);
    }

    /**
     * The bytes of all partitions: in the pool, or in a temporary file once the pool is full.
     *
     * <p><b>Threading:</b> thread-safe: the bytes come on a thread of Spark's transport, and {@link #discard} on any.
     *
     * <p><b>Ownership:</b> owns the pool memory until {@link #toMapOutput} hands it over, and the file until it is
     * committed; {@link #discard} otherwise.
     */
    static final class Data extends IncomingBlock {
        private static final int BUFFER_BYTES = 1 << 20;
        private static final int COPY_BYTES = 64 << 10;

        private final ChunkedOutput pooled;
        private long lengthBytes;
        private @Nullable File file;
        private @Nullable FileChannel channel;
        private boolean gone;

        /** Starts without a byte. */
        Data(String name, OutputKey key, int epoch, MigrationTarget target, Owner owner, ChunkedOutput pooled) {
            super(name, key, epoch, target, owner);
            this.pooled = pooled;
        }

        /** {@inheritDoc} Bytes that come after {@link #discard} are ignored, because the sender cannot be stopped. */
        @Override
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

        @Override
        synchronized void finish() throws IOException {
            if (channel != null) {
                channel.close();
                channel = null;
            }
        }

        /**
         * Compares the bytes with the sender's index.
         *
         * @return CRC-32C by partition: the sender's, or if that has none, what arrived; empty for files without
         * @throws IOException if they are not what the writer wrote
         */
        synchronized int[] verified(MigratedIndex index) throws IOException {
            requireHere();
            if (lengthBytes != index.totalBytes()) {
                throw new IOException(lengthBytes + " bytes of migrated " + key() + " arrived, but its index says "
                        + index.totalBytes());
            }
            int[] expected = index.checksums();
            if (file != null && expected == null) {
                return new int[0];
            }
            int[] found = file == null ? pooled.checksums(index.lengths()) : checksumsOf(file, index.lengths());
            if (expected != null && !Arrays.equals(found, expected)) {
                int partition = Arrays.mismatch(found, expected);
                throw new IOException(
                        "partition " + partition + " of migrated " + key() + " arrived with a wrong checksum");
            }
            return found;
        }

        /**
         * Hands the bytes over as a map output in the pool; null if they are in a file, or the pool has no room for the
         * index.
         */
        synchronized @Nullable MapOutput toMapOutput(long[] lengths, int[] checksums) throws IOException {
            requireHere();
            MapOutput output = file == null ? pooled.toMapOutput(key().mapId(), lengths, checksums) : null;
            gone = output != null;
            return output;
        }

        /** Returns the bytes in a file of this object's, where they are moved if need be; null if there are none. */
        synchronized @Nullable File toFile() throws IOException {
            requireHere();
            if (file == null && lengthBytes > 0) {
                moveToFile();
                finish();
            }
            return file;
        }

        /** Releases memory and file; idempotent. A file that has been committed, and so renamed, stays. */
        @Override
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
                throw new IOException("migrated " + key() + " has been dropped");
            }
        }

        private FileChannel moveToFile() throws IOException {
            target().requireDiskRoom();
            File created = target().createDataFile(key());
            file = created;
            FileChannel open = FileChannel.open(
                    created.toPath(),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.TRUNCATE_EXISTING);
            channel = open;
            StoredSlice.writeAll(pooled.slices(), Channels.newOutputStream(open), new byte[COPY_BYTES]);
            pooled.discard();
            return open;
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

    /** Offsets and checksums of the partitions. */
    static final class Index extends IncomingBlock {
        private final ByteArrayOutputStream encoded = new ByteArrayOutputStream();
        private @Nullable MigratedIndex index;

        Index(String name, OutputKey key, int epoch, MigrationTarget target, Owner owner) {
            super(name, key, epoch, target, owner);
        }

        /** Returns the index, which is complete. */
        MigratedIndex index() {
            return Objects.requireNonNull(index, "the index is still under way");
        }

        @Override
        void append(ByteBuffer more) throws IOException {
            if (more.remaining() > MigratedIndex.MAX_BYTES - encoded.size()) {
                throw new IOException("migrated index is longer than " + MigratedIndex.MAX_BYTES + " bytes");
            }
            byte[] piece = new byte[more.remaining()];
            more.get(piece);
            encoded.writeBytes(piece);
        }

        @Override
        void finish() throws IOException {
            index = MigratedIndex.decode(encoded.toByteArray());
            encoded.reset();
        }

        /** The garbage collector takes what there is. */
        @Override
        void discard() {}
    }
}
