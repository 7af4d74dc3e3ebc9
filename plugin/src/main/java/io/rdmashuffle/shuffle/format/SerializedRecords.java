// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Objects;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.jspecify.annotations.Nullable;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Records as a serialiser of Spark writes them, each flushed on its own. */
public final class SerializedRecords implements RecordEncoder {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int FIRST_BYTES = 4 << 10;

    private final Parts parts = new Parts();
    private final SerializationStream stream;

    public SerializedRecords(Serializer serializer) {
        this.stream = serializer.newInstance().serializeStream(parts);
    }

    @Override
    public void write(int partition, Object key, Object value, RecordSink sink) throws IOException {
        parts.begin(partition, sink);
        stream.writeKey(key, ANY);
        stream.writeValue(value, ANY);
        stream.flush();
        parts.end();
    }

    @Override
    public void close() throws IOException {
        parts.drop();
        stream.close();
    }

    /**
     * Stream for the current record. Bytes outside of a record are dropped: a failed serializer flushes its buffer when
     * it is closed.
     */
    private static final class Parts extends OutputStream {
        private byte[] bytes = new byte[FIRST_BYTES];
        private int filled;
        private long before;
        private int partition;
        private @Nullable RecordSink sink;

        void begin(int to, RecordSink in) {
            partition = to;
            sink = in;
            filled = 0;
            before = 0;
        }

        void end() throws IOException {
            if (filled > 0) {
                handOver();
            }
            sink = null;
        }

        void drop() {
            sink = null;
        }

        private void handOver() throws IOException {
            RecordSink to = sink;
            // Not set again if this fails: the record is incomplete.
            sink = null;
            Objects.requireNonNull(to).append(partition, bytes, filled, before);
            before += filled;
            filled = 0;
            sink = to;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] source, int offset, int length) throws IOException {
            for (int done = 0; done < length && sink != null; ) {
                if (filled == RecordSink.MAX_PART_BYTES) {
                    handOver();
                }
                int piece = Math.min(length - done, RecordSink.MAX_PART_BYTES - filled);
                if (filled + piece > bytes.length) {
                    int wanted = Math.max(filled + piece, 2 * bytes.length);
                    bytes = Arrays.copyOf(bytes, Math.min(wanted, RecordSink.MAX_PART_BYTES));
                }
                System.arraycopy(source, offset + done, bytes, filled, piece);
                filled += piece;
                done += piece;
            }
        }
    }
}
