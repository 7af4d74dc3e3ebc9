// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.shuffle.HeapShortage;
import io.rdmashuffle.shuffle.format.PieceSink;
import io.rdmashuffle.shuffle.format.RecordSink;
import io.rdmashuffle.shuffle.format.UnsafeRowFormat;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
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
 * <p>A record larger than {@link #MAX_PART_BYTES} is appended in parts, between which records may be spilled: the parts
 * of a partition follow one another wherever they are. No page is as large as a record.
 *
 * <p>When another consumer of the task's memory gets none, Spark asks this one to {@link #spill(long, MemoryConsumer)},
 * between two records; once it has been {@link #shut()}, the records are being written out and stay.
 *
 * <p><b>Threading:</b> for one task thread; any thread of the task may spill meanwhile. <b>Ownership:</b> owns its
 * pages until {@link #close()}.
 */
final class PartitionedRecordBuffer extends MemoryConsumer implements RecordSink, AutoCloseable {
    /** Sink of the records of a buffer that must release its memory. */
    @FunctionalInterface
    interface Overflow {
        /** Writes all records somewhere else; where it throws, the buffer keeps them. */
        void take(PartitionedRecordBuffer records) throws IOException;
    }

    /** Of the first page: a map output of a shuffle with thousands of partitions often has little more. */
    private static final int FIRST_PAGE_BYTES = 64 << 10;
    /** Minimum size of arrays that Spark keeps for the next task, as {@link #SPARE} keeps others. */
    private static final long MIN_PAGE_BYTES = 2 << 20;

    private static final long MAX_PAGE_BYTES = 4 << 20;
    /** Smallest rest of Spark's memory that is worth a page. A page is half of the held memory, or that rest. */
    private static final long MIN_REST_BYTES = 256 << 10;
    /**
     * Of one record. Its bytes are on the heap already, as the task's own objects that Spark does not account for, so
     * what Spark grants for a copy may not be there: a record of 2.5 GB leaves room for this copy in a heap of 3 GB.
     */
    private static final long MAX_RECORD_BYTES = 64 << 20;
    /** Spark gives a task 8192 pages at most, for everything that it does. */
    private static final int MAX_PAGES = 2048;
    /**
     * Taken without asking, so that no spill is smaller, however little Spark has to give; the buffers with which
     * Spark's own writers write their files take as much, and are not accounted for either.
     */
    private static final long FLOOR_BYTES = 1 << 20;
    /** With thousands of partitions a map output has often one or two records of each. */
    private static final int MIN_PIECE_BYTES = 256;

    private static final int MAX_PIECE_BYTES = 32 << 10;
    private static final int HEADER_BYTES = 16;
    private static final int ROOM_AT = 8;
    private static final int OFFSET_BITS = 40;
    private static final long OFFSET_MASK = (1L << OFFSET_BITS) - 1;
    /** Array header, included in page sizes so that an array fills whole regions of the G1 collector (SPARK-37593). */
    private static final int ARRAY_HEADER_BYTES = Platform.LONG_ARRAY_OFFSET;

    private static final SpareArrays SPARE =
            new SpareArrays(ARRAY_HEADER_BYTES / Long.BYTES, FIRST_PAGE_BYTES / Long.BYTES);

    private final long[] firsts;
    private final long[] lasts;
    /** Of the last pieces: what their addresses are relative to, where the next byte goes, and where they end. */
    private final @Nullable Object[] bases;

    private final long[] positions;
    private final long[] ends;
    private final Overflow overflow;
    private final long maxRecordBytes;
    private final long largestPage;
    private final int pageHeaderBytes;
    private final byte[] prefix = new byte[UnsafeRowFormat.PREFIX_BYTES];
    private final SpillGate gate = new SpillGate();
    private final List<MemoryBlock> pages = new ArrayList<>();
    private long heldBytes;
    private long pagePosition;
    private long pageEnd;
    private long peakBytes;

    /**
     * Creates an empty buffer.
     *
     * @param overflow takes all records when another consumer of the task needs memory, and at {@link #spillAll()}
     */
    PartitionedRecordBuffer(TaskMemoryManager memory, int partitions, Overflow overflow) {
        this(memory, partitions, overflow, MAX_RECORD_BYTES);
    }

    /**
     * Creates an empty buffer.
     *
     * @param maxRecordBytes bytes of one record after which all records are spilled
     */
    PartitionedRecordBuffer(TaskMemoryManager memory, int partitions, Overflow overflow, long maxRecordBytes) {
        super(memory, MIN_REST_BYTES - ARRAY_HEADER_BYTES, memory.getTungstenMemoryMode());
        this.overflow = overflow;
        this.maxRecordBytes = maxRecordBytes;
        // Where it leaves room for the header, Spark's is below a power of two.
        this.largestPage = Math.max(MAX_PAGE_BYTES, Long.highestOneBit(memory.pageSizeBytes() + ARRAY_HEADER_BYTES));
        this.pageHeaderBytes = getMode() == MemoryMode.ON_HEAP ? ARRAY_HEADER_BYTES : 0;
        this.firsts = new long[partitions];
        this.lasts = new long[partitions];
        this.bases = new Object[partitions];
        this.positions = new long[partitions];
        this.ends = new long[partitions];
    }

    @Override
    public void append(int partition, byte[] part, int length, long before) throws IOException {
        appendPart(partition, part, Platform.BYTE_ARRAY_OFFSET, length, before);
    }

    @Override
    public void appendPrefixed(int partition, Object base, long offset, int length) throws IOException {
        if (length <= MAX_PART_BYTES) {
            if (!addPrefixed(partition, base, offset, length)) {
                spillAll();
                require(addPrefixed(partition, base, offset, length));
            }
            return;
        }
        byte[] lengthBefore = new byte[UnsafeRowFormat.PREFIX_BYTES];
        Platform.putInt(lengthBefore, Platform.BYTE_ARRAY_OFFSET, Integer.reverseBytes(length));
        appendPart(partition, lengthBefore, Platform.BYTE_ARRAY_OFFSET, lengthBefore.length, 0);
        for (int done = 0; done < length; ) {
            int part = Math.min(length - done, MAX_PART_BYTES);
            appendPart(partition, base, offset + done, part, (long) lengthBefore.length + done);
            done += part;
        }
    }

    private void appendPart(int partition, @Nullable Object base, long offset, int length, long before)
            throws IOException {
        if (!add(partition, base, offset, length)) {
            spillAll();
            require(add(partition, base, offset, length));
        }
        if ((before + length) / maxRecordBytes != before / maxRecordBytes) {
            spillAll();
        }
    }

    private static void require(boolean added) {
        if (!added) {
            throw new IllegalStateException("an empty record buffer refused a record");
        }
    }

    /**
     * Takes a record; false if there is no memory for it now, and then nothing has changed. An empty buffer takes any
     * record: other tasks and operators may hold all that Spark has to give, and sort shuffle may get by with nothing.
     */
    boolean add(int partition, byte[] record, int length) {
        return add(partition, record, Platform.BYTE_ARRAY_OFFSET, length);
    }

    private boolean add(int partition, @Nullable Object base, long offset, int length) {
        gate.enter();
        try {
            if (ends[partition] - positions[partition] < length && !makeRoom(partition, length)) {
                return false;
            }
            copy(partition, base, offset, length);
            return true;
        } finally {
            gate.leave();
        }
    }

    /** Takes a record with its length before it, as {@link UnsafeRowFormat} says; false as above. */
    boolean addPrefixed(int partition, Object base, long offset, int length) {
        int needed = UnsafeRowFormat.PREFIX_BYTES + length;
        gate.enter();
        try {
            long position = positions[partition];
            if (ends[partition] - position >= needed) {
                Object target = bases[partition];
                Platform.putInt(target, position, Integer.reverseBytes(length));
                Platform.copyMemory(base, offset, target, position + UnsafeRowFormat.PREFIX_BYTES, length);
                positions[partition] = position + needed;
                return true;
            }
            if (!makeRoom(partition, needed)) {
                return false;
            }
            Platform.putInt(prefix, Platform.BYTE_ARRAY_OFFSET, Integer.reverseBytes(length));
            copy(partition, prefix, Platform.BYTE_ARRAY_OFFSET, UnsafeRowFormat.PREFIX_BYTES);
            copy(partition, base, offset, length);
            return true;
        } finally {
            gate.leave();
        }
    }

    /** Copies bytes to the end of the last piece, and the rest to the one that follows it, which has room for them. */
    private void copy(int partition, @Nullable Object base, long offset, int length) {
        int head = (int) Math.min(ends[partition] - positions[partition], length);
        Platform.copyMemory(base, offset, bases[partition], positions[partition], head);
        positions[partition] += head;
        if (head < length) {
            enter(partition, next(lasts[partition]));
            Platform.copyMemory(base, offset + head, bases[partition], positions[partition], length - head);
            positions[partition] += length - head;
        }
    }

    /** Chains a piece behind the last one that has room for what the last one has not; false if there is no memory. */
    private boolean makeRoom(int partition, int length) {
        long needed = pieceBytes(partition, length);
        while (pageEnd - pagePosition < needed) {
            if (!grow(needed)) {
                return false;
            }
            // All that was here may have been spilled while Spark was asked, this partition's last piece too.
            needed = pieceBytes(partition, length);
        }
        MemoryBlock page = pages.get(pages.size() - 1);
        long piece = (long) pages.size() << OFFSET_BITS | (pagePosition - page.getBaseOffset());
        Platform.putLong(page.getBaseObject(), pagePosition, 0);
        Platform.putLong(page.getBaseObject(), pagePosition + ROOM_AT, needed - HEADER_BYTES);
        pagePosition += needed;
        long last = lasts[partition];
        if (last == 0) {
            firsts[partition] = piece;
            enter(partition, piece);
        } else {
            MemoryBlock lastPage = pageOf(last);
            Platform.putLong(lastPage.getBaseObject(), offsetOf(lastPage, last), piece);
        }
        return true;
    }

    private long pieceBytes(int partition, int length) {
        long last = lasts[partition];
        long before = last == 0 ? 0 : room(last);
        long left = ends[partition] - positions[partition];
        long room = Math.max(Math.min(Math.max(2 * before, MIN_PIECE_BYTES), MAX_PIECE_BYTES), length - left);
        return (HEADER_BYTES + room + 7) & ~7L;
    }

    private void enter(int partition, long piece) {
        MemoryBlock page = pageOf(piece);
        lasts[partition] = piece;
        bases[partition] = page.getBaseObject();
        positions[partition] = offsetOf(page, piece) + HEADER_BYTES;
        ends[partition] = positions[partition] + room(piece);
    }

    /** Goes on to a new page; false if Spark has none. It may be the first one again, see {@link #askSpark}. */
    private boolean grow(long needed) {
        long first = Math.max(needed, ((long) FIRST_PAGE_BYTES << Math.min(pages.size(), 4)) - ARRAY_HEADER_BYTES);
        MemoryBlock page = heldBytes + first <= FLOOR_BYTES ? ownPage(first) : askSpark(needed);
        if (page == null && pages.isEmpty()) {
            page = ownPage(needed);
        }
        if (page == null) {
            return false;
        }
        pages.add(page);
        heldBytes += page.size();
        pagePosition = page.getBaseOffset();
        pageEnd = pagePosition + page.size();
        peakBytes = Math.max(peakBytes, getUsed());
        return true;
    }

    /**
     * Allocates a page from outside of the gate, since Spark takes its own lock first: whatever was in this buffer may
     * have been spilled when this returns.
     */
    private @Nullable MemoryBlock askSpark(long needed) {
        if (pages.size() >= MAX_PAGES) {
            return null;
        }
        long most = Math.max(MIN_PAGE_BYTES, Math.min(Long.highestOneBit(heldBytes / 2), largestPage));
        gate.leave();
        try {
            // A page that is refused costs an exception and, in Spark's log, a line for each of the task's consumers.
            long granted = acquireMemory(Math.max(needed, most - pageHeaderBytes));
            freeMemory(granted);
            if (granted < Math.max(needed, MIN_REST_BYTES)) {
                return null;
            }
            long size = Long.highestOneBit(granted + pageHeaderBytes) - pageHeaderBytes;
            return allocatePage(Math.max(needed, size));
        } catch (SparkOutOfMemoryError e) {
            return null;
        } finally {
            gate.enter();
        }
    }

    /** Allocates a page that Spark does not know of. */
    private static MemoryBlock ownPage(long bytes) {
        try {
            return MemoryBlock.fromLongArray(SPARE.take(Math.toIntExact(bytes / Long.BYTES)));
        } catch (OutOfMemoryError e) {
            throw HeapShortage.ofTask(bytes, e);
        }
    }

    /** Returns the peak of memory that Spark accounts for. */
    long peakBytes() {
        return peakBytes;
    }

    /** Returns the memory that is held now, what Spark does not account for too. */
    long heldBytes() {
        return heldBytes;
    }

    /** Returns the bytes of all records. */
    long recordBytes() {
        long bytes = 0;
        for (int p = 0; p < firsts.length; p++) {
            bytes += recordBytes(p);
        }
        return bytes;
    }

    /** Returns the bytes of the records of a partition. */
    long recordBytes(int partition) {
        long bytes = positions[partition] - ends[partition];
        for (long piece = firsts[partition]; piece != 0; piece = next(piece)) {
            bytes += room(piece);
        }
        return bytes;
    }

    /** Returns whether a partition has a record. */
    boolean has(int partition) {
        return firsts[partition] != 0;
    }

    /** Copies the first bytes of a partition's records, as many as the buffer takes; returns how many. */
    int head(int partition, byte[] buffer) {
        int filled = 0;
        for (long piece = firsts[partition]; piece != 0 && filled < buffer.length; piece = next(piece)) {
            MemoryBlock page = pageOf(piece);
            int part = Math.min(bytes(partition, piece), buffer.length - filled);
            Platform.copyMemory(
                    page.getBaseObject(),
                    startOf(page, piece),
                    buffer,
                    Platform.BYTE_ARRAY_OFFSET + (long) filled,
                    part);
            filled += part;
        }
        return filled;
    }

    /** Writes the records of a partition in the order in which they came, from where they lie. */
    void writeTo(PieceSink out, int partition) throws IOException {
        for (long piece = firsts[partition]; piece != 0; piece = next(piece)) {
            MemoryBlock page = pageOf(piece);
            out.writeFrom(page.getBaseObject(), startOf(page, piece), bytes(partition, piece));
        }
    }

    /** Writes a partition, through a buffer if the output needs arrays. */
    void writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
        if (out instanceof PieceSink pieces) {
            writeTo(pieces, partition);
            return;
        }
        int filled = 0;
        for (long piece = firsts[partition]; piece != 0; piece = next(piece)) {
            MemoryBlock page = pageOf(piece);
            long source = startOf(page, piece);
            int bytes = bytes(partition, piece);
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
    }

    /** Returns the offset of a piece's records in its page. */
    private static long startOf(MemoryBlock page, long piece) {
        return offsetOf(page, piece) + HEADER_BYTES;
    }

    /** Returns the number of record bytes in a piece. */
    private int bytes(int partition, long piece) {
        return piece == lasts[partition] ? (int) (positions[partition] - startOf(pageOf(piece), piece)) : room(piece);
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

    /**
     * Releases all memory for another consumer of the same task, on any thread. Releases nothing for itself, because
     * the thread that adds records spills them itself and sees failures.
     */
    @Override
    public long spill(long bytes, MemoryConsumer trigger) throws IOException {
        return trigger == this ? 0 : spillAll();
    }

    /** Spills all records and releases the memory; returns the bytes that Spark accounted for. */
    long spillAll() throws IOException {
        // Spark holds it when it asks; with it, none but the thread that adds records can be inside the gate.
        synchronized (taskMemoryManager) {
            if (!gate.enterToSpill()) {
                return 0;
            }
            List<MemoryBlock> freed;
            try {
                if (pages.isEmpty()) {
                    return 0;
                }
                overflow.take(this);
                freed = forgetAll();
            } finally {
                gate.leave();
            }
            return free(freed);
        }
    }

    /** Seals the buffer: no more records are added, and the existing ones are read in place. */
    void shut() {
        gate.shut();
    }

    /** Drops all records and releases the memory. Idempotent. */
    @Override
    public void close() {
        shut();
        free(forgetAll());
    }

    private List<MemoryBlock> forgetAll() {
        List<MemoryBlock> forgotten = List.copyOf(pages);
        pages.clear();
        heldBytes = 0;
        pagePosition = 0;
        pageEnd = 0;
        Arrays.fill(firsts, 0);
        Arrays.fill(lasts, 0);
        Arrays.fill(bases, null);
        Arrays.fill(positions, 0);
        Arrays.fill(ends, 0);
        return forgotten;
    }

    private long free(List<MemoryBlock> forgotten) {
        long bytes = 0;
        for (MemoryBlock page : forgotten) {
            if (page.pageNumber == MemoryBlock.NO_PAGE_NUMBER) {
                SPARE.give((long[]) Objects.requireNonNull(page.getBaseObject()));
            } else {
                bytes += page.size();
                freePage(page);
            }
        }
        return bytes;
    }
}
