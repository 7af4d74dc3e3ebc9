// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.rdmashuffle.memory.slice.FileSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.spark.network.util.AbstractFileRegion;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * File region for slices that are too large for a Netty buffer: of more than 2 GiB together, or of files of the disk
 * tier.
 *
 * <p><b>Threading:</b> used by one event loop.
 *
 * <p><b>Ownership:</b> owns the channel of the file that it is at; the message that carries it releases the block's
 * buffer.
 */
final class SliceFileRegion extends AbstractFileRegion {
    private static final Logger LOG = LoggerFactory.getLogger(SliceFileRegion.class);

    /** One write to a socket; its buffer takes far less. */
    private static final long PIECE_BYTES = 1L << 20;

    private final List<StoredSlice> slices;
    private final long sizeBytes;
    private long sentBytes;
    private @Nullable FileChannel channel;
    private @Nullable Path channelPath;

    SliceFileRegion(List<StoredSlice> slices, long sizeBytes) {
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
        for (StoredSlice slice : slices) {
            long end = start + slice.lengthBytes();
            if (position < end) {
                long piece = Math.min(PIECE_BYTES, end - position);
                long written = send(slice.slice(position - start, piece), target);
                sentBytes += written;
                return written;
            }
            start = end;
        }
        return 0;
    }

    private long send(StoredSlice piece, WritableByteChannel target) throws IOException {
        if (piece instanceof MemorySlice memory) {
            return target.write(memory.asByteBuffer());
        }
        if (piece instanceof FileSlice inFile) {
            FileChannel from = channelOf(inFile.path());
            long sent = from.transferTo(inFile.offset(), inFile.lengthBytes(), target);
            if (sent == 0 && inFile.offset() >= from.size()) {
                // Zero means a full socket to the caller, which would try again for ever.
                throw new IOException(inFile.path() + " ends before byte " + (inFile.offset() + inFile.lengthBytes()));
            }
            return sent;
        }
        throw new IllegalStateException("a slice of neither tier");
    }

    private FileChannel channelOf(Path path) throws IOException {
        FileChannel open = channel;
        if (open == null || !path.equals(channelPath)) {
            closeChannel();
            open = FileChannel.open(path, StandardOpenOption.READ);
            channel = open;
            channelPath = path;
        }
        return open;
    }

    private void closeChannel() {
        FileChannel open = channel;
        channel = null;
        try {
            if (open != null) {
                open.close();
            }
        } catch (IOException e) {
            LOG.debug("Cannot close {}", channelPath, e);
        }
    }

    @Override
    protected void deallocate() {
        closeChannel();
    }
}
