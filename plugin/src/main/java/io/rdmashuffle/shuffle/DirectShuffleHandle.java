package io.rdmashuffle.shuffle;

import org.apache.spark.ShuffleDependency;
import org.apache.spark.shuffle.BaseShuffleHandle;

/**
 * Tells writers and readers alike, in every executor, that blocks of this shuffle are bare records: the driver decides once.
 *
 * @param <K> key
 * @param <V> value
 * @param <C> combined value
 */
public final class DirectShuffleHandle<K, V, C> extends BaseShuffleHandle<K, V, C> {
    private static final long serialVersionUID = 1L;

    public DirectShuffleHandle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        super(shuffleId, dependency);
    }
}
