// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.shuffle.read.BlockReader.Begun;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.storage.BlockId;
import org.jspecify.annotations.Nullable;
import scala.Function2;
import scala.Tuple2;

/**
 * Iterator over all blocks of a reduce task as decrypted and decompressed streams: first blocks that are read
 * one-sidedly, then blocks that Spark fetches meanwhile, then failed ones.
 *
 * <p>A stream ends when the next one is requested. A stream that cannot be decoded although its checksum is right is a
 * fetch failure, so that Spark repeats the map task.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the blocks that are read here are closed after the last of them, or by whoever began to read
 * them when the task ends; then reading fails without blame for any executor.
 */
final class BlockStreams implements Iterator<Tuple2<BlockId, InputStream>> {
    /** Buffer that most blocks fit into; larger ones are read in place. */
    private static final int BUFFER_BYTES = 64 << 10;

    private final BlockReader here;
    private final Function2<BlockId, InputStream, InputStream> wrap;
    private final FetchedBlocks fetched;
    private byte @Nullable [] buffer = new byte[BUFFER_BYTES];
    private @Nullable Tuple2<BlockId, InputStream> next;

    /**
     * Starts Spark's fetch of all other blocks.
     *
     * @param wrap decrypts and decompresses
     * @param inBatches whether consecutive partitions of one map output may be fetched as one block
     */
    BlockStreams(
            BlockReader here,
            List<BlockRequest> others,
            FetchedBlocks.Fetch fetch,
            Function2<BlockId, InputStream, InputStream> wrap,
            boolean inBatches) {
        this.here = here;
        this.wrap = wrap;
        this.fetched = new FetchedBlocks(here, others, fetch, wrap, inBatches, here::close);
    }

    @Override
    public boolean hasNext() {
        if (next == null) {
            next = nextHere();
        }
        if (next == null) {
            next = fetched.next();
        }
        return next != null;
    }

    @Override
    public Tuple2<BlockId, InputStream> next() {
        Tuple2<BlockId, InputStream> taken = hasNext() ? next : null;
        if (taken == null) {
            throw new NoSuchElementException("all blocks have been read");
        }
        next = null;
        return taken;
    }

    private @Nullable Tuple2<BlockId, InputStream> nextHere() {
        if (buffer == null) {
            return null;
        }
        try {
            Begun block = here.begin(buffer);
            if (block != null) {
                return new Tuple2<>(block.wanted().id(), open(block));
            }
        } catch (IOException e) {
            throw Unchecked.raise(e);
        }
        buffer = null;
        here.close();
        return null;
    }

    private InputStream open(Begun block) throws IOException {
        InputStream decoded;
        try {
            decoded = wrap.apply(block.wanted().id(), block.bytes());
        } catch (Exception e) {
            // Scala's methods do not declare an IOException.
            throw e instanceof IOException failure ? here.fetchFailed(block.wanted(), failure) : Unchecked.raise(e);
        }
        return decoded == block.bytes() ? decoded : new Decoded(decoded, block.wanted());
    }

    /** Blames the owner of a block for bytes that cannot be decoded. */
    private final class Decoded extends FilterInputStream {
        private final BlockRequest block;

        Decoded(InputStream in, BlockRequest block) {
            super(in);
            this.block = block;
        }

        @Override
        public int read() throws IOException {
            try {
                return in.read();
            } catch (IOException e) {
                throw here.fetchFailed(block, e);
            }
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            try {
                return in.read(target, offset, length);
            } catch (IOException e) {
                throw here.fetchFailed(block, e);
            }
        }

        @Override
        public long skip(long count) throws IOException {
            try {
                return in.skip(count);
            } catch (IOException e) {
                throw here.fetchFailed(block, e);
            }
        }
    }
}
