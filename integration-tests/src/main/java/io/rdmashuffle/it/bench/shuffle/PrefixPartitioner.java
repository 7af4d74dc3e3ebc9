package io.rdmashuffle.it.bench.shuffle;

import java.nio.ByteBuffer;
import org.apache.spark.Partitioner;

/** Ranges of equal width of the first four bytes, unsigned: even partitions where keys are random, and no sampling job. */
final class PrefixPartitioner extends Partitioner {
    private final int partitions;

    PrefixPartitioner(int partitions) {
        this.partitions = partitions;
    }

    @Override
    public int numPartitions() {
        return partitions;
    }

    @Override
    public int getPartition(Object key) {
        long prefix = Integer.toUnsignedLong(ByteBuffer.wrap((byte[]) key).getInt());
        return (int) ((prefix * partitions) >>> Integer.SIZE);
    }
}
