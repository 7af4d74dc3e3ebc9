// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.shuffle.HeapShortage;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.NoSuchElementException;
import java.util.function.IntFunction;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import scala.Tuple2;
import scala.collection.AbstractIterator;

/**
 * Rows of Spark SQL that point into the buffer to which their blocks were copied: no copy and no stream for each.
 *
 * <p>One row object serves all, as with Spark's own deserialiser: a row is good until the next one is asked for.
 * Looking whether there is a next one leaves it alone, so there are two buffers. A larger row has an array of its own,
 * which is not kept: the heap need not hold two of them at a time.
 *
 * <p><b>Threading:</b> one task thread. <b>Ownership:</b> closes the stream when it ends.
 */
public final class RowIterator extends AbstractIterator<Tuple2<Object, Object>> {
    /** Fits into a second-level cache beside the consumer's own data. */
    private static final int BUFFER_BYTES = 64 << 10;

    private static final byte[] NONE = new byte[0];

    private final InputStream in;
    private final Tuple2<Object, Object> record;
    private final UnsafeRow row;
    private final IntFunction<byte[]> arrays;
    private byte[] buffer = new byte[BUFFER_BYTES];
    private byte[] other = new byte[BUFFER_BYTES];
    private int position;
    private int end;
    private boolean ended;

    /** Returns rows in this record, whose value is a row object that knows how many fields there are. */
    RowIterator(InputStream in, Tuple2<Object, Object> record) {
        this(in, record, byte[]::new);
    }

    /**
     * Returns rows in this record.
     *
     * @param arrays allocates those of large rows
     */
    RowIterator(InputStream in, Tuple2<Object, Object> record, IntFunction<byte[]> arrays) {
        this.in = in;
        this.arrays = arrays;
        this.record = record;
        this.row = (UnsafeRow) record._2();
    }

    /** Reads rows of a stream, in the same objects in which Spark's deserialiser would return them. */
    @SuppressWarnings({"unchecked", "rawtypes"})
    public static RowIterator over(InputStream in, SerializerInstance serializer) {
        // An empty row: the deserialiser knows how many fields there are, and does not say otherwise.
        InputStream empty = new ByteArrayInputStream(new byte[UnsafeRowFormat.PREFIX_BYTES]);
        Tuple2 record = serializer.deserializeStream(empty).asKeyValueIterator().next();
        return new RowIterator(in, (Tuple2<Object, Object>) record);
    }

    @Override
    public boolean hasNext() {
        if (position == end && !ended) {
            try {
                fill(1);
            } catch (IOException e) {
                throw Unchecked.raise(e);
            }
        }
        return position < end;
    }

    @Override
    public Tuple2<Object, Object> next() {
        if (!hasNext()) {
            throw new NoSuchElementException("no row is left");
        }
        try {
            require(UnsafeRowFormat.PREFIX_BYTES);
            int length = Integer.reverseBytes(Platform.getInt(buffer, Platform.BYTE_ARRAY_OFFSET + (long) position));
            if (length < 0 || length > ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH) {
                throw new IOException("a row of " + length + " bytes");
            }
            require(UnsafeRowFormat.PREFIX_BYTES + length);
            row.pointTo(buffer, Platform.BYTE_ARRAY_OFFSET + (long) position + UnsafeRowFormat.PREFIX_BYTES, length);
            position += UnsafeRowFormat.PREFIX_BYTES + length;
            return record;
        } catch (IOException e) {
            throw Unchecked.raise(e);
        }
    }

    /** Ensures that {@code bytes} are buffered. */
    private void require(int bytes) throws IOException {
        if (end - position < bytes) {
            fill(bytes);
            if (end - position < bytes) {
                throw new EOFException(
                        "the stream ends " + (end - position) + " bytes into a row of at least " + bytes);
            }
        }
    }

    /** Returns an array for a large row and its length; the row before, which is not to be used any more, is let go. */
    private byte[] ofOneRow(int bytes) {
        row.pointTo(NONE, Platform.BYTE_ARRAY_OFFSET, 0);
        try {
            return arrays.apply(bytes);
        } catch (OutOfMemoryError e) {
            throw HeapShortage.ofTask(bytes, e);
        }
    }

    /**
     * Switches to the other buffer, with the rest of this one and as many further bytes as are available, at least
     * {@code bytes} in total.
     */
    private void fill(int bytes) throws IOException {
        byte[] target = bytes > BUFFER_BYTES ? ofOneRow(bytes) : other;
        int filled = end - position;
        System.arraycopy(buffer, position, target, 0, filled);
        other = buffer.length > BUFFER_BYTES ? new byte[BUFFER_BYTES] : buffer;
        buffer = target;
        position = 0;
        end = filled;
        while (end < bytes && !ended) {
            int count = in.read(buffer, end, buffer.length - end);
            if (count < 0) {
                ended = true;
                in.close();
            } else {
                end += count;
            }
        }
    }
}
