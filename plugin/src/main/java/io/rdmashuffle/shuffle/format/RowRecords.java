// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.unsafe.Platform;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Rows of Spark SQL, copied from where they lie to where they wait, with no stream in between.
 *
 * <p>Spark's serialiser counts their bytes in the exchange's metric {@code dataSize}, from which adaptive execution
 * plans; so that it counts direct shuffles too, as many zeros are written through it to a null stream, a few thousand
 * rows at a time.
 */
public final class RowRecords implements RecordEncoder {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final byte[] ZEROS = new byte[1 << 20];

    private final SerializationStream counting;
    private final UnsafeRow counted = new UnsafeRow(0);
    private long uncounted;

    public RowRecords(Serializer serializer) {
        this.counting = serializer.newInstance().serializeStream(OutputStream.nullOutputStream());
    }

    @Override
    public void write(int partition, Object key, Object value, RecordSink sink) throws IOException {
        UnsafeRow row = (UnsafeRow) value;
        int length = row.getSizeInBytes();
        sink.appendPrefixed(partition, row.getBaseObject(), row.getBaseOffset(), length);
        uncounted += length;
        if (uncounted >= ZEROS.length) {
            count();
        }
    }

    private void count() {
        while (uncounted > 0) {
            int piece = (int) Math.min(uncounted, ZEROS.length);
            counted.pointTo(ZEROS, Platform.BYTE_ARRAY_OFFSET, piece);
            counting.writeValue(counted, ANY);
            uncounted -= piece;
        }
    }

    @Override
    public void close() throws IOException {
        count();
        counting.close();
    }
}
