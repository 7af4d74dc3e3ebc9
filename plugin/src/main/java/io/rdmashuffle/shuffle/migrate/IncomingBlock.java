// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
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
 * <p><b>Ownership:</b> owns what has arrived until {@link #discard}.
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

    /** Hears of the ends of blocks. */
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

    /** Gives everything back; idempotent. */
    abstract void discard();

    abstract void append(ByteBuffer bytes) throws IOException;

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
        LOG.warn("Migrated block {} is not taken over", name, cause);
        owner.failed(this);
    }

    /** The bytes of all partitions. */
    static final class Data extends IncomingBlock {
        private final IncomingData bytes;

        Data(String name, OutputKey key, int epoch, MigrationTarget target, Owner owner, ChunkedOutput pooled) {
            super(name, key, epoch, target, owner);
            this.bytes = new IncomingData(key, pooled, target);
        }

        IncomingData bytes() {
            return bytes;
        }

        @Override
        void append(ByteBuffer more) throws IOException {
            bytes.append(more);
        }

        @Override
        void finish() throws IOException {
            bytes.finish();
        }

        @Override
        void discard() {
            bytes.discard();
        }
    }

    /** Where the partitions begin, and their checksums. */
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
