// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.memory.MemorySlice;
import java.io.IOException;
import java.nio.channels.WritableByteChannel;
import java.util.List;
import org.apache.spark.network.util.AbstractFileRegion;

/**
 * Sends slices of more than 2 GiB together, which a Netty buffer cannot hold.
 *
 * <p><b>Threading:</b> used by one event loop.
 *
 * <p><b>Ownership:</b> owns nothing; the message that carries it releases the block's buffer.
 */
final class SliceFileRegion extends AbstractFileRegion {
    /** One write to a socket; its buffer takes far less. */
    private static final long PIECE_BYTES = 1L << 20;

    private final List<MemorySlice> slices;
    private final long sizeBytes;
    private long sentBytes;

    SliceFileRegion(List<MemorySlice> slices, long sizeBytes) {
        this.slices = slices;
        this.sizeBytes = sizeBytes;
    }

    @Override
    public long position() {
        return 0;
    }

    @Override
    public long transferred() {
        return sentBytes;
    }

    @Override
    public long count() {
        return sizeBytes;
    }

    @Override
    public long transferTo(WritableByteChannel target, long position) throws IOException {
        long start = 0;
        for (MemorySlice slice : slices) {
            long end = start + slice.lengthBytes();
            if (position < end) {
                long piece = Math.min(PIECE_BYTES, end - position);
                int written = target.write(slice.slice(position - start, piece).asByteBuffer());
                sentBytes += written;
                return written;
            }
            start = end;
        }
        return 0;
    }

    @Override
    protected void deallocate() {}
}
