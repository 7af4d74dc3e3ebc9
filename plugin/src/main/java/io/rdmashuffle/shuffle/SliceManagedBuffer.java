package io.rdmashuffle.shuffle;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.stream.ChunkedStream;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.ReferenceCount;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * A block in mapped memory, as Spark hands blocks around.
 *
 * <p><b>Threading:</b> thread-safe reference count; the bytes do not change.
 *
 * <p><b>Ownership:</b> begins with one reference, which belongs to whoever receives the buffer; the last release gives the
 * memory back. Streams and buffers made from it are valid until then.
 */
public final class SliceManagedBuffer extends ManagedBuffer {
    /** What one Netty buffer can hold; larger blocks are sent as a file region. */
    private static final long MAX_BYTE_BUF = Integer.MAX_VALUE;

    private static final int SSL_CHUNK_BYTES = 1 << 20;

    private final List<MemorySlice> slices;
    private final long sizeBytes;
    private final ReferenceCount references;
    private final AtomicBoolean adoptable;

    /** Wraps slices; {@code onLastRelease} runs once, when nobody uses them any more. */
    public SliceManagedBuffer(List<MemorySlice> slices, Runnable onLastRelease) {
        this(slices, onLastRelease, false);
    }

    private SliceManagedBuffer(List<MemorySlice> slices, Runnable onLastRelease, boolean adoptable) {
        this.adoptable = new AtomicBoolean(adoptable);
        this.slices = List.copyOf(slices);
        this.sizeBytes =
                this.slices.stream().mapToLong(MemorySlice::lengthBytes).sum();
        this.references = new ReferenceCount(onLastRelease);
    }

    /**
     * Wraps slices for a task that reads its own executor's block. Spark's fetch iterator retains such a block once and
     * releases it once, and leaves the reference that the buffer began with alone, since files have none; so here the first
     * {@link #retain()} takes that one over.
     *
     * <p><b>Source:</b> {@code ShuffleBlockFetcherIterator.fetchLocalBlocks}.
     */
    static SliceManagedBuffer forLocalTask(List<MemorySlice> slices, Runnable onLastRelease) {
        return new SliceManagedBuffer(slices, onLastRelease, true);
    }

    @Override
    public long size() {
        return sizeBytes;
    }

    /** Returns the bytes, big-endian as every new buffer: without a copy if they lie in one piece, else at most 2 GiB. */
    @Override
    public ByteBuffer nioByteBuffer() {
        if (slices.size() == 1) {
            return slices.get(0).asByteBuffer().order(ByteOrder.BIG_ENDIAN);
        }
        ByteBuffer copy = ByteBuffer.allocate(Math.toIntExact(sizeBytes));
        slices.forEach(slice -> copy.put(slice.asByteBuffer()));
        return copy.flip();
    }

    @Override
    public InputStream createInputStream() {
        return new SliceInputStream(slices);
    }

    @Override
    public ManagedBuffer retain() {
        if (!adoptable.compareAndSet(true, false)) {
            references.retainHeld();
        }
        return this;
    }

    @Override
    public ManagedBuffer release() {
        references.release();
        return this;
    }

    /** Returns the bytes for Spark's transport, without a copy; the transport releases this buffer when it has sent them. */
    @Override
    public Object convertToNetty() {
        return sizeBytes <= MAX_BYTE_BUF ? byteBuf() : new SliceFileRegion(slices, sizeBytes);
    }

    @Override
    public Object convertToNettyForSsl() {
        return sizeBytes <= MAX_BYTE_BUF ? byteBuf() : new ChunkedStream(createInputStream(), SSL_CHUNK_BYTES);
    }

    private ByteBuf byteBuf() {
        List<ByteBuffer> pieces = new ArrayList<>(slices.size());
        slices.forEach(slice -> pieces.add(slice.asByteBuffer().order(ByteOrder.BIG_ENDIAN)));
        return Unpooled.wrappedBuffer(pieces.toArray(ByteBuffer[]::new));
    }
}
