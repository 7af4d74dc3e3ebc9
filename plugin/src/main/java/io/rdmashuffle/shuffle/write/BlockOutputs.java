package io.rdmashuffle.shuffle.write;

import java.io.IOException;
import java.io.OutputStream;
import java.util.function.UnaryOperator;
import java.util.zip.CheckedOutputStream;
import java.util.zip.Checksum;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;

/**
 * What blocks become on their way out.
 *
 * @param checksums take each partition's bytes as they are stored, for Spark's checksum files; empty if there are to be none
 * @param form bare or compressed
 */
@SuppressWarnings("ArrayRecordComponent")
record BlockOutputs(Checksum[] checksums, UnaryOperator<OutputStream> form) {
    /** Opens a partition of a map output; the caller closes it before the next. */
    OutputStream open(int partition, ShuffleMapOutputWriter out) throws IOException {
        OutputStream stored = out.getPartitionWriter(partition).openStream();
        return form.apply(checksums.length == 0 ? stored : new CheckedOutputStream(stored, checksums[partition]));
    }
}
