// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.migrate;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.shuffle.buffer.SliceManagedBuffer;
import io.rdmashuffle.store.MapOutputStore;
import io.rdmashuffle.store.OutputKey;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/**
 * The pool's map outputs as a decommissioned executor sends them away.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * @param store the outputs in the pool
 */
public record OutgoingOutputs(MapOutputStore store) {
    private static final Logger LOG = LoggerFactory.getLogger(OutgoingOutputs.class);

    /** Spark names data and index of all partitions by this one. */
    private static final int NO_REDUCE_ID = 0;

    private static final int COPY_BYTES = 64 << 10;

    static BlockId dataBlockId(OutputKey key) {
        return ShuffleDataBlockId.apply(key.shuffleId(), key.mapId(), NO_REDUCE_ID);
    }

    static BlockId indexBlockId(OutputKey key) {
        return ShuffleIndexBlockId.apply(key.shuffleId(), key.mapId(), NO_REDUCE_ID);
    }

    /**
     * Returns the blocks to upload, in this order: data if there is a byte, then the index. Bytes that are damaged here
     * or cannot be read are not sent: Spark would take their refusal for a fault of the peer, and an exception ends its
     * thread for that peer, with outputs left.
     *
     * @return null if the output is not in the pool; empty if it is damaged
     */
    @Nullable
    public List<Tuple2<BlockId, ManagedBuffer>> blocks(OutputKey key) {
        MapOutput output = store.acquire(key.shuffleId(), key.mapId());
        if (output == null) {
            return null;
        }
        try {
            StoredRange all = output.stored(0, output.entry().partitions());
            List<StoredSlice> bytes = all.pieces();
            if (!all.isIntact()) {
                LOG.warn(
                        "Not migrating {}: wrong checksum, the pool's memory was overwritten; its task will run again",
                        key);
                return List.of();
            }
            Duration age = Duration.ofNanos(store.ageNanos(key.shuffleId(), key.mapId()));
            List<Tuple2<BlockId, ManagedBuffer>> blocks = new ArrayList<>(2);
            if (!bytes.isEmpty()) {
                blocks.add(new Tuple2<>(dataBlockId(key), new SliceManagedBuffer(bytes, output)));
            }
            blocks.add(new Tuple2<>(indexBlockId(key), new NioManagedBuffer(MigratedIndex.encode(all.range(), age))));
            return blocks;
        } catch (IOException | RuntimeException e) {
            LOG.warn("Not migrating {}, which cannot be read; its task will be repeated", key, e);
            return List.of();
        } finally {
            output.release();
        }
    }

    /**
     * Writes an output of the pool as Spark's files too, for those who read only those; nothing if it is not in the
     * pool.
     */
    public void writeFiles(OutputKey key, MigrationTarget target) throws IOException {
        MapOutput output = store.acquire(key.shuffleId(), key.mapId());
        if (output == null) {
            return;
        }
        File data = null;
        try {
            StoredRange all = output.stored(0, output.entry().partitions());
            List<StoredSlice> bytes = all.pieces();
            if (!all.isIntact()) {
                throw new IOException("checksum of " + key + " is wrong: the pool's memory was overwritten");
            }
            if (!bytes.isEmpty()) {
                data = target.createDataFile(key);
                try (OutputStream out = Files.newOutputStream(data.toPath())) {
                    StoredSlice.writeAll(bytes, out, new byte[COPY_BYTES]);
                }
            }
            target.commitFiles(key, all.range().lengths(), data);
        } finally {
            output.release();
            if (data != null) {
                // Renamed if it was committed.
                data.delete();
            }
        }
    }
}
