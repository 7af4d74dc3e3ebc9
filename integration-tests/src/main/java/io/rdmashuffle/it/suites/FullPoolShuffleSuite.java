package io.rdmashuffle.it.suites;

import org.apache.spark.ShuffleSuite;

/**
 * The tests of Spark's {@code ShuffleSuite} that look at files ({@link FullPoolTests}), with a pool that has room for no map output,
 * so that all outputs become such files: what is in them, and what happens when they go, is as Spark wants it.
 */
public final class FullPoolShuffleSuite extends ShuffleSuite {
    /** Called by ScalaTest. */
    public FullPoolShuffleSuite() {
        // The directory has its part of the pool, so that the one chunk that an output begins with never fits.
        conf().set("spark.shuffle.rdma.pool.maxSize", "1m");
        conf().set("spark.shuffle.rdma.pool.chunkSize", "1m");
        conf().set("spark.shuffle.rdma.pool.reserveTimeout", "0ms");
    }
}
