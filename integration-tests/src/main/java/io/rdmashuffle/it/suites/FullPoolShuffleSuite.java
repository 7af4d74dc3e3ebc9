package io.rdmashuffle.it.suites;

import org.apache.spark.ShuffleSuite;

/**
 * The tests of Spark's {@code ShuffleSuite} that look at files ({@link FullPoolTests}), with a pool that has room for no map output,
 * so that all outputs become such files: what is in them, and what happens when they go, is as Spark wants it.
 */
public final class FullPoolShuffleSuite extends ShuffleSuite {
    /** Called by ScalaTest. */
    public FullPoolShuffleSuite() {
        // The directory takes 1,024,064 of 1,048,576 bytes; what is left is less than the smallest part of a chunk.
        conf().set("spark.shuffle.rdma.pool.maxSize", "1m");
        conf().set("spark.shuffle.rdma.directory.maxShuffles", "16000");
        conf().set("spark.shuffle.rdma.pool.chunkSize", "1m");
        conf().set("spark.shuffle.rdma.pool.reserveTimeout", "0ms");
    }
}
