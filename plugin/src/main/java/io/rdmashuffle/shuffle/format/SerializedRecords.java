// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Records as a serialiser of Spark writes them, each flushed on its own. */
public final class SerializedRecords implements RecordEncoder {
    private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Object();
    private static final int BUFFER_BYTES = 4 << 10;

    private final RecordBytes bytes = new RecordBytes();
    private final SerializationStream stream;

    public SerializedRecords(Serializer serializer) {
        this.stream = serializer.newInstance().serializeStream(bytes);
    }

    @Override
    public void encode(Object key, Object value) throws IOException {
        bytes.reset();
        stream.writeKey(key, ANY);
        stream.writeValue(value, ANY);
        stream.flush();
    }

    @Override
    public boolean addTo(RecordSink sink, int partition) {
        return sink.add(partition, bytes.array(), bytes.size());
    }

    @Override
    public void close() throws IOException {
        stream.close();
    }

    /** One record; its array is not copied. */
    private static final class RecordBytes extends ByteArrayOutputStream {
        RecordBytes() {
            super(BUFFER_BYTES);
        }

        byte[] array() {
            return buf;
        }
    }
}
