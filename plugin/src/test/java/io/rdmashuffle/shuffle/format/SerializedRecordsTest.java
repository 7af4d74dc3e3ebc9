// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Random;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;
import scala.collection.Iterator;

/** Records of any size on their way to a sink. */
@Tag("unit")
@Timeout(60)
class SerializedRecordsTest {
    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final KryoSerializer serializer = new KryoSerializer(new SparkConf(false));

    /** Sink that keeps all bytes of one partition, as a stream of them would. */
    private static class Kept implements RecordSink {
        private final ByteArrayOutputStream all = new ByteArrayOutputStream();
        private long ofRecord;
        private int largestArray;

        @Override
        public void append(int partition, byte[] part, int length, long before) {
            assertThat(length).isBetween(1, MAX_PART_BYTES);
            assertThat(before).isIn(0L, ofRecord);
            ofRecord = before + length;
            largestArray = Math.max(largestArray, part.length);
            all.write(part, 0, length);
        }

        @Override
        public void appendPrefixed(int partition, Object base, long offset, int length) {
            throw new AssertionError("no rows");
        }
    }

    private byte[] value(int bytes) {
        byte[] value = new byte[bytes];
        random.nextBytes(value);
        return value;
    }

    @Test
    void passesRecordsOfAnySizeInParts() throws IOException {
        int[] sizes = {10, 3 << 20, 0, RecordSink.MAX_PART_BYTES, 100, RecordSink.MAX_PART_BYTES + 1, 1};
        byte[][] values = new byte[sizes.length][];
        Kept kept = new Kept();
        SerializedRecords records = new SerializedRecords(serializer);
        for (int i = 0; i < sizes.length; i++) {
            values[i] = value(sizes[i]);
            records.write(0, i, values[i], kept);
        }
        records.close();
        // No array grows to the size of a record, so none is kept either.
        assertThat(kept.largestArray).isEqualTo(RecordSink.MAX_PART_BYTES);
        Iterator<Tuple2<Object, Object>> found = serializer
                .newInstance()
                .deserializeStream(new ByteArrayInputStream(kept.all.toByteArray()))
                .asKeyValueIterator();
        for (int i = 0; i < sizes.length; i++) {
            Tuple2<Object, Object> record = found.next();
            assertThat(record._1()).isEqualTo(i);
            assertThat((byte[]) record._2()).as("seed %d", seed).isEqualTo(values[i]);
        }
        assertThat(found.hasNext()).isFalse();
    }

    /** Closing flushes what the serialiser still holds; the JVM's own error would be the same object again. */
    @Test
    void writesNothingAfterAFailure() {
        OutOfMemoryError only = new OutOfMemoryError("the JVM has one of them");
        RecordSink full = new Kept() {
            @Override
            public void append(int partition, byte[] part, int length, long before) {
                throw only;
            }
        };
        for (int bytes : new int[] {100, 1 << 20}) {
            byte[] value = value(bytes);
            assertThatThrownBy(() -> CloseOnFailure.use(
                            new SerializedRecords(serializer), records -> records.write(0, 1, value, full)))
                    .isSameAs(only)
                    .hasNoSuppressedExceptions();
        }
    }
}
