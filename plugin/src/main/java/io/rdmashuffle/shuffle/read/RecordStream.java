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
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.util.TaskCompletionListener;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function2;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * All blocks of a reduce task as one stream of records: first those in memory mapped into this process, then those that
 * Spark's fetch brings meanwhile, then those that were not found in place.
 *
 * <p><b>Threading:</b> one thread reads; another may close, as happens when the task of an {@code RDD.pipe} ends, and
 * then reading fails without blame for any executor. <b>Ownership:</b> owns the visible blocks; close it when
 * the task ends.
 */
final class RecordStream extends InputStream {
    private static final Logger LOG = LoggerFactory.getLogger(RecordStream.class);

    private final DirectBlockReader visible;
    private final Fetch fetch;
    private final Object lock = new Object();
    private @Nullable Frames frames;
    private scala.collection.Iterator<Tuple2<BlockId, InputStream>> fetched;
    /** Read and closed with the lock: a stream of Spark's that is closed meanwhile tells of a fetch that failed. */
    private InputStream stream = InputStream.nullInputStream();

    private volatile boolean closed;
    private boolean visibleEnded;
    private boolean missedAsked;

    /** What this asks of {@link SparkFetch}. */
    interface Fetch {
        /** Does as {@link SparkFetch#start}. */
        scala.collection.Iterator<Tuple2<BlockId, InputStream>> start(
                scala.collection.Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
                Function2<BlockId, InputStream, InputStream> wrap,
                boolean inBatches);

        /** Has an action done when the task has ended, before Spark releases what it has fetched. */
        void atEnd(Runnable action);

        /** Returns what blocks that are compressed are opened with. */
        Frames frames();
    }

    /**
     * Begins to fetch at once what is not visible.
     *
     * @param inBatches whether consecutive partitions of one map output may be fetched as one block
     */
    RecordStream(DirectBlockReader visible, List<WantedBlock> others, SparkFetch fetch, boolean inBatches) {
        this(visible, others, fetchOf(fetch), inBatches);
    }

    RecordStream(DirectBlockReader visible, List<WantedBlock> others, Fetch fetch, boolean inBatches) {
        this.visible = visible;
        this.fetch = fetch;
        this.fetched = start(others, inBatches);
    }

    private static Fetch fetchOf(SparkFetch fetch) {
        return new Fetch() {
            @Override
            public scala.collection.Iterator<Tuple2<BlockId, InputStream>> start(
                    scala.collection.Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocks,
                    Function2<BlockId, InputStream, InputStream> wrap,
                    boolean inBatches) {
                return fetch.start(blocks, wrap, inBatches);
            }

            @Override
            public void atEnd(Runnable action) {
                // The last one to be added is the first to be called.
                fetch.context().addTaskCompletionListener((TaskCompletionListener) ended -> action.run());
            }

            @Override
            public Frames frames() {
                return Frames.of(fetch.services().conf());
            }
        };
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
            made = fetch.frames();
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
            int count = readFetched(target, offset, length);
            if (count > 0) {
                return count;
            }
            if (count < 0 && !advance()) {
                return -1;
            }
        }
    }

    /** Reads on in the stream that Spark fetched last, which is in memory or in a file, so that none waits for long. */
    private int readFetched(byte[] target, int offset, int length) throws IOException {
        synchronized (lock) {
            if (closed) {
                throw ended(null);
            }
            return stream.read(target, offset, length);
        }
    }

    /** Goes to the next stream that Spark fetched; false if there is none. */
    private boolean advance() throws IOException {
        set(InputStream.nullInputStream());
        InputStream next = nextFetched();
        if (next != null) {
            set(next);
        }
        return next != null;
    }

    /** Closes the stream that was read before, or the new one if the task has ended. Readers may ask after the end. */
    private void set(InputStream next) throws IOException {
        synchronized (lock) {
            if (closed) {
                next.close();
                throw ended(null);
            }
            stream.close();
            stream = next;
        }
    }

    /** Waits for the next stream; not with the lock, since the end of the task must not wait. */
    private @Nullable InputStream nextFetched() throws IOException {
        try {
            if (!fetched.hasNext() && !missedAsked) {
                missedAsked = true;
                List<WantedBlock> missed = visible.takeMissed();
                // Not in batches: Spark merges over what lies between two blocks, which was read already.
                fetched = start(missed, false);
                if (!missed.isEmpty()) {
                    fetch.atEnd(this::close);
                }
            }
            return fetched.hasNext() ? fetched.next()._2() : null;
        } catch (Exception e) {
            if (closed) {
                throw ended(e);
            }
            throw e;
        }
    }

    private static IOException ended(@Nullable Exception cause) {
        return new IOException("the task that read these blocks has ended", cause);
    }

    /**
     * Releases all memory, a decompressor's too; Spark ends its fetch with the task. Idempotent.
     */
    @Override
    public void close() {
        closed = true;
        visible.close();
        synchronized (lock) {
            try {
                stream.close();
            } catch (IOException e) {
                LOG.debug("Cannot close a fetched block", e);
            }
        }
    }
}
