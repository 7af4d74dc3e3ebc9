// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.BaseShuffleHandle;

/**
 * Marks a shuffle as direct: its blocks are records without Spark's streams around them. The driver decides once, for
 * all executors.
 *
 * @param <K> key
 * @param <V> value
 * @param <C> combined value
 */
public final class DirectShuffleHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
    /** Blocks are uncompressed, and Spark receives estimated compressed sizes, usually two to four times smaller. */
    public static final int SIZE_FACTOR = 4;

    private static final long serialVersionUID = 2L;

    private final NetworkCompression compression;

    public DirectShuffleHandle(int shuffleId, ShuffleDependency<K, V, C> dependency, NetworkCompression compression) {
        super(shuffleId, dependency);
        this.compression = compression;
    }

    /** Returns the driver's decision for all map outputs. */
    public NetworkCompression compression() {
        return compression;
    }
}
