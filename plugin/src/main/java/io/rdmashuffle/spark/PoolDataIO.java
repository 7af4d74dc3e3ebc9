package io.rdmashuffle.spark;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.api.ShuffleDataIO;
import org.apache.spark.shuffle.api.ShuffleDriverComponents;
import org.apache.spark.shuffle.api.ShuffleExecutorComponents;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDriverComponents;

/**
 * Points Spark's own writers at the pool; {@link RdmaShuffleManager} sets {@code spark.shuffle.sort.io.plugin.class} to it.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class PoolDataIO implements ShuffleDataIO {
    /** Called by Spark through reflection. */
    public PoolDataIO(SparkConf conf) {}

    /** Returns Spark's own driver side: it tells every executor when a shuffle is to be removed. */
    @Override
    public ShuffleDriverComponents driver() {
        return new LocalDiskShuffleDriverComponents();
    }

    @Override
    public ShuffleExecutorComponents executor() {
        if (SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager) {
            return manager.executorComponents();
        }
        throw new IllegalStateException(SortFallback.DATA_IO_KEY + "=" + PoolDataIO.class.getName()
                + " works only with spark.shuffle.manager=" + RdmaShuffleManager.class.getName());
    }
}
