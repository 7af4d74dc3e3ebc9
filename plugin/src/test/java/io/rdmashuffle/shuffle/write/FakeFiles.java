// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.ShufflePartitionWriter;
import org.apache.spark.shuffle.api.SingleSpillShuffleMapOutputWriter;
import org.apache.spark.shuffle.api.metadata.MapOutputCommitMessage;

/** Spark's local shuffle files, in memory, as strict as those about the order of calls. */
class FakeFiles implements ShuffleMapOutputWriter, SingleSpillShuffleMapOutputWriter {
    private final ByteArrayOutputStream[] partitions;
    private byte[] spill = new byte[0];
    private int last = -1;
    private boolean open;
    private boolean committed;
    private boolean aborted;

    FakeFiles(int partitions) {
        this.partitions = new ByteArrayOutputStream[partitions];
        for (int p = 0; p < partitions; p++) {
            this.partitions[p] = new ByteArrayOutputStream();
        }
    }

    byte[] partition(int index) {
        return partitions[index].toByteArray();
    }

    byte[] spill() {
        return spill;
    }

    boolean isCommitted() {
        return committed;
    }

    boolean isAborted() {
        return aborted;
    }

    @Override
    public ShufflePartitionWriter getPartitionWriter(int partition) {
        assertThat(partition).isGreaterThan(last);
        assertThat(open).as("another partition is still open").isFalse();
        last = partition;
        return new ShufflePartitionWriter() {
            @Override
            public OutputStream openStream() {
                open = true;
                return new OutputStream() {
                    @Override
                    public void write(int b) {
                        partitions[partition].write(b);
                    }

                    @Override
                    public void close() {
                        open = false;
                    }
                };
            }

            @Override
            public long getNumBytesWritten() {
                return partitions[partition].size();
            }
        };
    }

    @Override
    public MapOutputCommitMessage commitAllPartitions(long[] checksums) {
        assertThat(open).isFalse();
        committed = true;
        long[] lengths = new long[partitions.length];
        for (int p = 0; p < lengths.length; p++) {
            lengths[p] = partitions[p].size();
        }
        return MapOutputCommitMessage.of(lengths);
    }

    @Override
    public void abort(Throwable error) {
        aborted = true;
    }

    @Override
    public void transferMapSpillFile(File file, long[] lengths, long[] checksums) throws IOException {
        spill = Files.readAllBytes(file.toPath());
        committed = true;
    }
}
