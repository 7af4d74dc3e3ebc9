// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.shuffle.format.RecordSink;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.memory.MemoryBlock;
import org.jspecify.annotations.Nullable;

/**
 * Serialised records by partition, in memory that Spark accounts for: each partition has a chain of pieces that grow
 * with it, and a record is appended to the last. Nothing is sorted, and a partition is read piece by piece rather than
 * record by record.
 *
 * <pre>
 *  piece, 8-aligned in a page:   next of its partition, 0 for none (8)   room (8)   bytes (room)
 *  place of a piece:             page, from 1 (24 bits)                  offset in it (40 bits)
 * </pre>
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns its pages until {@link #clear()}.
 */
final class PartitionedRecordBuffer extends MemoryConsumer implements RecordSink {
    /** Of the first page: a map output of a shuffle with thousands of partitions often has little more. */
    private static final long MIN_PAGE_BYTES = 64 << 10;

    private static final long MAX_PAGE_BYTES = 4 << 20;
    /** Spark gives a task 8192 pages at most, for everything that it does. */
    private static final int MAX_PAGES = 2048;
    /**
     * Of the page that an empty buffer takes without asking when Spark has none to give; file buffers of other writers
     * take as much.
     */
    private static final long RESERVE_PAGE_BYTES = 1 << 20;
    /** With thousands of partitions a map output has often one or two records of each. */
    private static final int MIN_PIECE_BYTES = 256;

    private static final int MAX_PIECE_BYTES = 32 << 10;
    private static final int HEADER_BYTES = 16;
    private static final int ROOM_AT = 8;
    private static final int OFFSET_BITS = 40;
    private static final long OFFSET_MASK = (1L << OFFSET_BITS) - 1;

    private final long[] firsts;
    private final long[] lasts;
    private final long[] lengths;
    /** Of the last pieces: what their addresses are relative to, where the next byte goes, and how many fit. */
    private final @Nullable Object[] bases;

    private final long[] positions;
    private final int[] left;
    private final long largestPage;
    private final byte[] prefix = new byte[UnsafeRowFormat.PREFIX_BYTES];
    private final List<MemoryBlock> pages = new ArrayList<>();
    private @Nullable MemoryBlock reserve;
    private long pagePosition;
    private long pageEnd;
    private long peakBytes;

    PartitionedRecordBuffer(TaskMemoryManager memory, int partitions) {
        super(memory, MIN_PAGE_BYTES, memory.getTungstenMemoryMode());
        this.largestPage = Math.max(MAX_PAGE_BYTES, memory.pageSizeBytes());
        this.firsts = new long[partitions];
        this.lasts = new long[partitions];
        this.lengths = new long[partitions];
        this.bases = new Object[partitions];
        this.positions = new long[partitions];
        this.left = new int[partitions];
    }

    /**
     * Takes a record; false if there is no memory for it now, and then nothing has changed. An empty buffer takes any
     * record: other tasks and operators may hold all that Spark has to give, and sort shuffle may get by with nothing.
     */
    @Override
    public boolean add(int partition, byte[] record, int length) {
        if (left[partition] < length && !makeRoom(partition, length)) {
            return false;
        }
        append(partition, record, Platform.BYTE_ARRAY_OFFSET, length);
        return true;
    }

    /** Takes a record with its length before it, as {@link UnsafeRowFormat} says; false as above. */
    @Override
    public boolean addPrefixed(int partition, Object base, long offset, int length) {
        int needed = UnsafeRowFormat.PREFIX_BYTES + length;
        if (left[partition] >= needed) {
            Platform.putInt(bases[partition], positions[partition], Integer.reverseBytes(length));
            Platform.copyMemory(
                    base, offset, bases[partition], positions[partition] + UnsafeRowFormat.PREFIX_BYTES, length);
            advance(partition, needed);
            return true;
        }
        if (!makeRoom(partition, needed)) {
            return false;
        }
        Platform.putInt(prefix, Platform.BYTE_ARRAY_OFFSET, Integer.reverseBytes(length));
        append(partition, prefix, Platform.BYTE_ARRAY_OFFSET, UnsafeRowFormat.PREFIX_BYTES);
        append(partition, base, offset, length);
        return true;
    }

    /** Copies bytes to the end of the last piece, and the rest to the one that follows it, which has room for them. */
    private void append(int partition, Object base, long offset, int length) {
        int head = Math.min(left[partition], length);
        Platform.copyMemory(base, offset, bases[partition], positions[partition], head);
        advance(partition, head);
        if (head < length) {
            enter(partition, next(lasts[partition]));
            Platform.copyMemory(base, offset + head, bases[partition], positions[partition], length - head);
            advance(partition, length - head);
        }
    }

    private void advance(int partition, int bytes) {
        positions[partition] += bytes;
        left[partition] -= bytes;
        lengths[partition] += bytes;
    }

    /** Chains a piece behind the last one that has room for what the last one has not; false if there is no memory. */
    private boolean makeRoom(int partition, int length) {
        long last = lasts[partition];
        int before = last == 0 ? 0 : room(last);
        int room = Math.max(Math.min(Math.max(2 * before, MIN_PIECE_BYTES), MAX_PIECE_BYTES), length - left[partition]);
        long needed = ((long) HEADER_BYTES + room + 7) & ~7L;
        if (pageEnd - pagePosition < needed && !grow(needed)) {
            return false;
        }
        MemoryBlock page = pages.get(pages.size() - 1);
        long piece = (long) pages.size() << OFFSET_BITS | (pagePosition - page.getBaseOffset());
        Platform.putLong(page.getBaseObject(), pagePosition, 0);
        Platform.putLong(page.getBaseObject(), pagePosition + ROOM_AT, room);
        pagePosition += needed;
        if (last == 0) {
            firsts[partition] = piece;
            enter(partition, piece);
        } else {
            MemoryBlock lastPage = pageOf(last);
            Platform.putLong(lastPage.getBaseObject(), offsetOf(lastPage, last), piece);
        }
        return true;
    }

    private void enter(int partition, long piece) {
        MemoryBlock page = pageOf(piece);
        lasts[partition] = piece;
        bases[partition] = page.getBaseObject();
        positions[partition] = offsetOf(page, piece) + HEADER_BYTES;
        left[partition] = room(piece);
    }

    private boolean grow(long needed) {
        long last = pages.isEmpty() ? 0 : pages.get(pages.size() - 1).size();
        long wanted = Math.max(needed, Math.min(2 * last, largestPage));
        MemoryBlock page = pages.size() >= MAX_PAGES || reserve != null ? null : pageOrNull(wanted);
        if (page == null && pages.isEmpty()) {
            page = reservePage(Math.max(needed, RESERVE_PAGE_BYTES));
            reserve = page;
        }
        if (page == null) {
            return false;
        }
        pages.add(page);
        pagePosition = page.getBaseOffset();
        pageEnd = pagePosition + page.size();
        peakBytes = Math.max(peakBytes, getUsed());
        return true;
    }

    private static MemoryBlock reservePage(long bytes) {
        try {
            return MemoryBlock.fromLongArray(new long[Math.toIntExact(bytes / Long.BYTES)]);
        } catch (OutOfMemoryError e) {
            // Of a record of hundreds of megabytes, so memory is there: the task fails, not the executor.
            SparkOutOfMemoryError ofTask = new SparkOutOfMemoryError(
                    "UNABLE_TO_ACQUIRE_MEMORY", Map.of("requestedBytes", Long.toString(bytes), "receivedBytes", "0"));
            ofTask.initCause(e);
            throw ofTask;
        }
    }

    private @Nullable MemoryBlock pageOrNull(long bytes) {
        try {
            return allocatePage(bytes);
        } catch (SparkOutOfMemoryError e) {
            return null;
        }
    }

    boolean isEmpty() {
        return pages.isEmpty();
    }

    /** Returns the most that was ever held at once. */
    long peakBytes() {
        return peakBytes;
    }

    /** Returns the bytes of all records. */
    long recordBytes() {
        return LongStream.of(lengths).sum();
    }

    /** Returns whether a partition has a record. */
    boolean has(int partition) {
        return lengths[partition] != 0;
    }

    /** Writes the records of a partition in the order in which they came, through a buffer; returns their bytes. */
    long writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
        int filled = 0;
        long missing = lengths[partition];
        for (long piece = firsts[partition]; missing > 0; piece = next(piece)) {
            MemoryBlock page = pageOf(piece);
            long source = offsetOf(page, piece) + HEADER_BYTES;
            int bytes = (int) Math.min(missing, room(piece));
            missing -= bytes;
            while (bytes > 0) {
                if (filled == buffer.length) {
                    out.write(buffer, 0, filled);
                    filled = 0;
                }
                int part = Math.min(bytes, buffer.length - filled);
                Platform.copyMemory(
                        page.getBaseObject(), source, buffer, Platform.BYTE_ARRAY_OFFSET + (long) filled, part);
                filled += part;
                source += part;
                bytes -= part;
            }
        }
        out.write(buffer, 0, filled);
        return lengths[partition];
    }

    private long next(long piece) {
        MemoryBlock page = pageOf(piece);
        return Platform.getLong(page.getBaseObject(), offsetOf(page, piece));
    }

    private int room(long piece) {
        MemoryBlock page = pageOf(piece);
        return (int) Platform.getLong(page.getBaseObject(), offsetOf(page, piece) + ROOM_AT);
    }

    private MemoryBlock pageOf(long place) {
        return pages.get((int) (place >>> OFFSET_BITS) - 1);
    }

    private static long offsetOf(MemoryBlock page, long place) {
        return page.getBaseOffset() + (place & OFFSET_MASK);
    }

    /** Forgets all records and gives the memory back. */
    void clear() {
        for (MemoryBlock page : pages) {
            if (page != reserve) {
                freePage(page);
            }
        }
        pages.clear();
        reserve = null;
        pagePosition = 0;
        pageEnd = 0;
        Arrays.fill(firsts, 0);
        Arrays.fill(lasts, 0);
        Arrays.fill(lengths, 0);
        Arrays.fill(bases, null);
        Arrays.fill(left, 0);
    }

    /** Gives nothing to others: the writer spills when it gets no memory itself, as Spark's own sorter does. */
    @Override
    public long spill(long bytes, MemoryConsumer trigger) {
        return 0;
    }
}
