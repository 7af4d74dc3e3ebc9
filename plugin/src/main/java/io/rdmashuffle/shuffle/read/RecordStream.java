// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.shuffle.Unchecked;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * All blocks of a reduce task as one stream of records: first those in memory mapped into this process, then those that
 * Spark's fetch brings meanwhile, then those that were not found in place.
 *
 * <p><b>Threading:</b> one thread reads; another may close. <b>Ownership:</b> owns the visible blocks; close it when
 * the task ends.
 */
final class RecordStream extends InputStream {
    private static final Logger LOG = LoggerFactory.getLogger(RecordStream.class);

    private final InPlaceBlockReader visible;
    private final SparkFetch fetch;
    private @Nullable Frames frames;
    private scala.collection.Iterator<Tuple2<BlockId, InputStream>> fetched;
    private volatile InputStream stream = InputStream.nullInputStream();
    private volatile boolean closed;
    private boolean visibleEnded;
    private boolean missedAsked;

    /**
     * Begins to fetch at once what is not visible.
     *
     * @param inBatches whether consecutive partitions of one map output may be fetched as one block
     */
    RecordStream(InPlaceBlockReader visible, List<WantedBlock> others, SparkFetch fetch, boolean inBatches) {
        this.visible = visible;
        this.fetch = fetch;
        this.fetched = start(others, inBatches);
    }

    private scala.collection.Iterator<Tuple2<BlockId, InputStream>> start(List<WantedBlock> blocks, boolean inBatches) {
        if (blocks.isEmpty()) {
            return CollectionConverters.asScala(
                    List.<Tuple2<BlockId, InputStream>>of().iterator());
        }
        Map<BlockManagerId, List<Tuple3<BlockId, Object, Object>>> byOwner = new LinkedHashMap<>();
        for (WantedBlock each : blocks) {
            byOwner.computeIfAbsent(each.owner(), owner -> new ArrayList<>()).add(each.block());
        }
        List<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> byAddress = new ArrayList<>();
        byOwner.forEach((owner, owned) -> byAddress.add(
                new Tuple2<>(owner, CollectionConverters.asScala(owned).toSeq())));
        return fetch.start(CollectionConverters.asScala(byAddress.iterator()), (id, in) -> open(in), inBatches);
    }

    private InputStream open(InputStream in) {
        try {
            return frames().open(in);
        } catch (IOException e) {
            // Spark diagnoses it.
            throw Unchecked.raise(e);
        }
    }

    /** Most tasks fetch nothing, and need no codec. */
    private Frames frames() {
        Frames made = frames;
        if (made == null) {
            made = new Frames(
                    CompressionCodec$.MODULE$.createCodec(fetch.services().conf()));
            frames = made;
        }
        return made;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        Objects.checkFromIndexSize(offset, length, target.length);
        if (length == 0) {
            return 0;
        }
        if (!visibleEnded) {
            int count = visible.read(target, offset, length);
            if (count > 0) {
                return count;
            }
            visibleEnded = true;
            visible.close();
        }
        while (true) {
            int count = stream.read(target, offset, length);
            if (count > 0) {
                return count;
            }
            if (count < 0 && !advance()) {
                return -1;
            }
        }
    }

    /** Goes to the next stream that Spark fetched; false if there is none. */
    private boolean advance() throws IOException {
        stream.close();
        // Readers may ask again after the end.
        stream = InputStream.nullInputStream();
        if (!fetched.hasNext() && !missedAsked) {
            missedAsked = true;
            // Not in batches: Spark merges over what lies between two blocks, which was read already.
            fetched = start(visible.takeMissed(), false);
        }
        if (!fetched.hasNext()) {
            return false;
        }
        stream = fetched.next()._2();
        if (closed) {
            stream.close();
            throw new IOException("the task that read these blocks has ended");
        }
        return true;
    }

    /**
     * Releases all memory, a decompressor's too; Spark ends its fetch with the task. Idempotent.
     */
    @Override
    public void close() {
        closed = true;
        visible.close();
        try {
            stream.close();
        } catch (IOException e) {
            LOG.debug("Cannot close a fetched block", e);
        }
    }
}
