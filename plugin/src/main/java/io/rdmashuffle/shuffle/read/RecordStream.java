// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Objects;
import org.apache.spark.storage.BlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;

/**
 * All blocks of a reduce task as one stream of records: first blocks that are read one-sidedly, then blocks that Spark
 * fetches meanwhile, then failed ones.
 *
 * <p><b>Threading:</b> one thread reads; another may close, as happens when the task of an {@code RDD.pipe} ends, and
 * then reads fail without a fetch failure. <b>Ownership:</b> owns the visible blocks; close it when the task ends.
 */
final class RecordStream extends InputStream {
    private static final Logger LOG = LoggerFactory.getLogger(RecordStream.class);

    private final BlockReader here;
    private final FetchedBlocks fetched;
    private final Frames frames;
    private final Object lock = new Object();
    /** Read and closed with the lock: Spark's stream reports a fetch failure if it is closed meanwhile. */
    private InputStream stream = InputStream.nullInputStream();

    private volatile boolean closed;
    private boolean hereEnded;

    /**
     * Starts Spark's fetch of all other blocks.
     *
     * @param frames opens compressed blocks
     * @param inBatches whether consecutive partitions of one map output may be fetched as one block
     */
    RecordStream(
            BlockReader here, List<BlockRequest> others, FetchedBlocks.Fetch fetch, Frames frames, boolean inBatches) {
        this.here = here;
        this.frames = frames;
        this.fetched = new FetchedBlocks(here, others, fetch, (id, in) -> open(in), inBatches, this::close);
    }

    private InputStream open(InputStream in) {
        try {
            return frames.open(in);
        } catch (IOException e) {
            // Spark diagnoses it.
            throw Unchecked.raise(e);
        }
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
        if (!hereEnded) {
            int count = here.read(target, offset, length);
            if (count > 0) {
                return count;
            }
            hereEnded = true;
            here.close();
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
            Tuple2<BlockId, InputStream> next = fetched.next();
            return next == null ? null : next._2();
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
        here.close();
        synchronized (lock) {
            try {
                stream.close();
            } catch (IOException e) {
                LOG.debug("Cannot close a fetched block", e);
            }
        }
    }
}
