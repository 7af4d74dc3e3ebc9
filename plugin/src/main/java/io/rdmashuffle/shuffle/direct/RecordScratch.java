package io.rdmashuffle.shuffle.direct;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.memory.MemoryBlock;

/**
 * Serialised records in the order in which they came, in memory that Spark accounts for, with a chain through those of each
 * partition: nothing is sorted.
 *
 * <pre>
 *  record, 8-aligned in a page:   next of its partition, 0 for none (8)   length (4)   bytes (length)
 *  place of a record:             page, from 1 (24 bits)                  offset in it (40 bits)
 * </pre>
 *
 * <p><b>Threading:</b> none; for one task thread. <b>Ownership:</b> owns its pages until {@link #clear()}.
 */
final class RecordScratch extends MemoryConsumer {
    /** Of a first page; a map output of a shuffle with thousands of partitions often has little more. */
    private static final long SMALLEST_PAGE = 64 << 10;

    private static final long LARGEST_PAGE = 4 << 20;
    private static final int HEADER_BYTES = 12;
    private static final int LENGTH_AT = 8;
    private static final int OFFSET_BITS = 40;
    private static final long OFFSET_MASK = (1L << OFFSET_BITS) - 1;

    private final long[] heads;
    private final long[] tails;
    private final List<MemoryBlock> pages = new ArrayList<>();
    private long position;
    private long end;
    private long peakBytes;

    RecordScratch(TaskMemoryManager memory, int partitions) {
        super(memory, SMALLEST_PAGE, memory.getTungstenMemoryMode());
        this.heads = new long[partitions];
        this.tails = new long[partitions];
    }

    /** Takes a record; false if there is no memory for it now. */
    boolean add(int partition, byte[] record, int length) {
        long needed = (HEADER_BYTES + length + 7L) & ~7L;
        if (end - position < needed && !grow(needed)) {
            return false;
        }
        MemoryBlock page = pages.get(pages.size() - 1);
        Object base = page.getBaseObject();
        Platform.putLong(base, position, 0);
        Platform.putInt(base, position + LENGTH_AT, length);
        Platform.copyMemory(record, Platform.BYTE_ARRAY_OFFSET, base, position + HEADER_BYTES, length);
        long place = (long) pages.size() << OFFSET_BITS | (position - page.getBaseOffset());
        if (heads[partition] == 0) {
            heads[partition] = place;
        } else {
            MemoryBlock tail = pageOf(tails[partition]);
            Platform.putLong(tail.getBaseObject(), offsetOf(tail, tails[partition]), place);
        }
        tails[partition] = place;
        position += needed;
        return true;
    }

    private boolean grow(long needed) {
        long last = pages.isEmpty() ? 0 : pages.get(pages.size() - 1).size();
        long wanted = Math.max(needed, Math.min(2 * last, LARGEST_PAGE));
        try {
            MemoryBlock page = allocatePage(wanted);
            pages.add(page);
            position = page.getBaseOffset();
            end = position + page.size();
            peakBytes = Math.max(peakBytes, getUsed());
            return true;
        } catch (SparkOutOfMemoryError e) {
            return false;
        }
    }

    boolean isEmpty() {
        return pages.isEmpty();
    }

    /** Returns the most that was ever held at once. */
    long peakBytes() {
        return peakBytes;
    }

    /** Returns whether a partition has a record. */
    boolean has(int partition) {
        return heads[partition] != 0;
    }

    /** Writes the records of a partition in the order in which they came, through a buffer; returns their bytes. */
    long writeTo(OutputStream out, int partition, byte[] buffer) throws IOException {
        int filled = 0;
        long written = 0;
        long place = heads[partition];
        while (place != 0) {
            MemoryBlock page = pageOf(place);
            Object base = page.getBaseObject();
            long offset = offsetOf(page, place);
            int left = Platform.getInt(base, offset + LENGTH_AT);
            long source = offset + HEADER_BYTES;
            written += left;
            while (left > 0) {
                if (filled == buffer.length) {
                    out.write(buffer, 0, filled);
                    filled = 0;
                }
                int piece = Math.min(left, buffer.length - filled);
                Platform.copyMemory(base, source, buffer, Platform.BYTE_ARRAY_OFFSET + (long) filled, piece);
                filled += piece;
                source += piece;
                left -= piece;
            }
            place = Platform.getLong(base, offset);
        }
        out.write(buffer, 0, filled);
        return written;
    }

    private MemoryBlock pageOf(long place) {
        return pages.get((int) (place >>> OFFSET_BITS) - 1);
    }

    private static long offsetOf(MemoryBlock page, long place) {
        return page.getBaseOffset() + (place & OFFSET_MASK);
    }

    /** Forgets all records and gives the memory back. */
    void clear() {
        pages.forEach(this::freePage);
        pages.clear();
        position = 0;
        end = 0;
        Arrays.fill(heads, 0);
    }

    /** Gives nothing to others: the writer spills when it gets no memory itself, as Spark's own sorter does. */
    @Override
    public long spill(long bytes, MemoryConsumer trigger) {
        return 0;
    }
}
