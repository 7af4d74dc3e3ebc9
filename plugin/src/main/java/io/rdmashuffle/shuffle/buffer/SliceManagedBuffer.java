// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.buffer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.stream.ChunkedStream;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * A block of this host, in memory or in files of the disk tier, as Spark hands blocks around.
 *
 * <p><b>Threading:</b> thread-safe reference count; the bytes do not change.
 *
 * <p><b>Ownership:</b> has no reference to the owner of the bytes until one is taken: Spark drops such buffers
 * unreleased when it makes several for one request and one of them fails, and its fetch iterator retains a local block
 * once and releases it once, since files need no more. Streams fail once the owner has been freed.
 *
 * <p><b>Source:</b> {@code NettyBlockRpcServer.receive}, {@code ShuffleBlockFetcherIterator.fetchLocalBlocks}.
 */
public final class SliceManagedBuffer extends ManagedBuffer {
    /** Maximum size of a Netty buffer; larger blocks, and blocks on disk, are sent as a file region. */
    private static final long MAX_BYTE_BUF = Integer.MAX_VALUE;

    private static final int SSL_CHUNK_BYTES = 1 << 20;

    private final List<StoredSlice> slices;
    private final long sizeBytes;
    private final ReferenceCounted owner;
    /** Open references that were acquired through this buffer. */
    private final AtomicInteger held = new AtomicInteger();

    /**
     * Wraps slices, without a reference to their owner.
     *
     * @param owner keeps them where they are: a map output, or the pool of an ended executor
     */
    public SliceManagedBuffer(List<StoredSlice> slices, ReferenceCounted owner) {
        this.slices = List.copyOf(slices);
        this.sizeBytes = MovingBytes.Place.lasting(slices).lengthBytes();
        this.owner = owner;
    }

    @Override
    public long size() {
        return sizeBytes;
    }

    /** Returns a copy of the bytes, 2 GiB at most. */
    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        take();
        try {
            byte[] copy = new byte[Math.toIntExact(sizeBytes)];
            int filled = 0;
            for (StoredSlice slice : slices) {
                int length = (int) slice.lengthBytes();
                slice.getBytes(0, copy, filled, length);
                filled += length;
            }
            return ByteBuffer.wrap(copy);
        } finally {
            release();
        }
    }

    /** Returns a stream that takes a reference for each read, so that one used too long fails instead of crashing. */
    @Override
    public InputStream createInputStream() {
        return SliceInputStream.of(slices, owner);
    }

    @Override
    public ManagedBuffer retain() {
        if (!owner.retain()) {
            throw new IllegalStateException("the block's memory has been released");
        }
        held.incrementAndGet();
        return this;
    }

    /** Releases one reference; a buffer without references ignores it, as Spark's files do. */
    @Override
    public ManagedBuffer release() {
        if (held.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
            owner.release();
        }
        return this;
    }

    /**
     * Returns the bytes for Spark's transport, without a copy; the transport releases this buffer when it has sent
     * them.
     *
     * @throws IOException if the block has been removed meanwhile; the transport tells the peer
     */
    @Override
    public Object convertToNetty() throws IOException {
        take();
        return fitsByteBuf() ? byteBuf() : new SliceFileRegion(slices, sizeBytes);
    }

    /** As above, where Spark encrypts its connections with TLS (from 4.0 on, so that it overrides nothing on 3.5). */
    @SuppressWarnings("MissingOverride")
    public Object convertToNettyForSsl() throws IOException {
        take();
        return fitsByteBuf() ? byteBuf() : new ChunkedStream(createInputStream(), SSL_CHUNK_BYTES);
    }

    private boolean fitsByteBuf() {
        return sizeBytes <= MAX_BYTE_BUF && slices.stream().allMatch(MemorySlice.class::isInstance);
    }

    private void take() throws IOException {
        if (!owner.retain()) {
            throw new IOException("the block has been removed");
        }
        held.incrementAndGet();
    }

    private ByteBuf byteBuf() {
        List<ByteBuffer> pieces = new ArrayList<>(slices.size());
        for (StoredSlice slice : slices) {
            if (slice instanceof MemorySlice piece) {
                pieces.add(piece.asByteBuffer().order(ByteOrder.BIG_ENDIAN));
            }
        }
        // More components than it may have would be copied into one.
        return Unpooled.wrappedBuffer(Math.max(1, pieces.size()), pieces.toArray(ByteBuffer[]::new));
    }
}
