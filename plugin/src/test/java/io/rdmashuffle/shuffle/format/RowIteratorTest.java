// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Tuple2;

/** Rows against a model, from streams that return as little as they may. */
@Tag("unit")
@Timeout(60)
class RowIteratorTest {
    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);
    private final List<byte[]> rows = new ArrayList<>();
    private final ByteArrayOutputStream written = new ByteArrayOutputStream();

    /** Mostly small rows, some larger than the iterator's buffers, some empty. */
    private void writeRows(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            int most = random.nextInt(300) == 0 ? 40_000 : 30;
            byte[] row = new byte[8 * random.nextInt(most)];
            random.nextBytes(row);
            rows.add(row);
            written.write(ByteBuffer.allocate(4).putInt(row.length).array());
            written.write(row);
        }
    }

    private RowIterator iterator(InputStream in) {
        return new RowIterator(in, new Tuple2<>(0, new UnsafeRow(0)));
    }

    /** Returns a few bytes at a time, and says when it is closed. */
    private final class Trickle extends FilterInputStream {
        private boolean closed;

        Trickle(byte[] bytes) {
            super(new ByteArrayInputStream(bytes));
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            int most = random.nextInt(10) == 0 ? 3 : 100_000;
            return super.read(target, offset, Math.min(length, 1 + random.nextInt(most)));
        }

        @Override
        public void close() throws IOException {
            closed = true;
            super.close();
        }
    }

    @Test
    void rowsComeInOrderAndStayWhileTheNextIsLookedFor() throws IOException {
        writeRows(3_000);
        Trickle in = new Trickle(written.toByteArray());
        RowIterator iterator = iterator(in);
        for (byte[] row : rows) {
            assertThat(iterator.hasNext()).isTrue();
            UnsafeRow found = (UnsafeRow) iterator.next()._2();
            iterator.hasNext();
            assertThat(found.getBytes()).as("seed %d", seed).isEqualTo(row);
        }
        assertThat(iterator.hasNext()).isFalse();
        assertThat(in.closed).isTrue();
        assertThatThrownBy(iterator::next).isInstanceOf(NoSuchElementException.class);
    }

    @Test
    void aStreamThatEndsWithinARowFails() throws IOException {
        writeRows(20);
        byte[] whole = written.toByteArray();
        byte[] cut = Arrays.copyOf(whole, whole.length - 1 - random.nextInt(3));
        assertThatThrownBy(() -> {
                    RowIterator iterator = iterator(new Trickle(cut));
                    for (int i = 0; i < 20; i++) {
                        iterator.next();
                    }
                })
                .as("seed %d", seed)
                .isInstanceOf(EOFException.class);
    }

    @Test
    void keepsNoArrayOfALargeRow() throws IOException {
        byte[] large = new byte[1 << 20];
        for (int i = 0; i < 3; i++) {
            written.write(ByteBuffer.allocate(4).putInt(large.length).array());
            written.write(large);
            // More than both buffers hold.
            writeRows(3_000);
        }
        RowIterator iterator = iterator(new ByteArrayInputStream(written.toByteArray()));
        int largeArrays = 0;
        while (iterator.hasNext()) {
            UnsafeRow row = (UnsafeRow) iterator.next()._2();
            int array = ((byte[]) row.getBaseObject()).length;
            if (row.getSizeInBytes() <= 64 << 10) {
                assertThat(array).as("seed %d", seed).isLessThanOrEqualTo(64 << 10);
            } else {
                assertThat(array).isEqualTo(row.getSizeInBytes() + 4);
                largeArrays++;
            }
        }
        assertThat(largeArrays).isGreaterThanOrEqualTo(3);
    }

    @Test
    void failsTheTaskForARowWithoutMemory() throws IOException {
        written.write(ByteBuffer.allocate(4).putInt(1 << 20).array());
        UnsafeRow row = new UnsafeRow(0);
        RowIterator iterator =
                new RowIterator(new ByteArrayInputStream(written.toByteArray()), new Tuple2<>(0, row), bytes -> {
                    throw new OutOfMemoryError("Java heap space");
                });
        assertThatThrownBy(iterator::next)
                .isInstanceOf(SparkOutOfMemoryError.class)
                .hasMessageContaining(Integer.toString((1 << 20) + 4));
    }

    @Test
    void aLengthThatCannotBeFails() {
        byte[] negative = ByteBuffer.allocate(12).putInt(-8).array();
        assertThatThrownBy(() -> iterator(new ByteArrayInputStream(negative)).next())
                .hasMessageContaining("a row of -8 bytes");
    }
}
