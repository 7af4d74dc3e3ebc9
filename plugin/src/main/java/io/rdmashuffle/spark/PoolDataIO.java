// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.conf.SparkSettings;
import io.rdmashuffle.spark.support.KeptOutputs;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.shuffle.api.ShuffleDataIO;
import org.apache.spark.shuffle.api.ShuffleDriverComponents;
import org.apache.spark.shuffle.api.ShuffleExecutorComponents;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleDriverComponents;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleExecutorComponents;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Points Spark's own writers at the pool; {@link RdmaShuffleManager} sets {@code spark.shuffle.sort.io.plugin.class} to
 * it.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class PoolDataIO implements ShuffleDataIO {
    private static final Logger LOG = LoggerFactory.getLogger(PoolDataIO.class);

    /** Spark's setting that names this class. */
    static final String KEY = SparkSettings.DATA_IO_KEY;

    private final SparkConf conf;

    /** A shuffle manager that has a pool. */
    interface Owner {
        /** Returns the destination of map outputs. */
        ShuffleExecutorComponents executorComponents();
    }

    /** Called by Spark through reflection. */
    public PoolDataIO(SparkConf conf) {
        this.conf = conf;
    }

    /** Returns Spark's own driver components, which notify every executor of removed shuffles. */
    @Override
    public ShuffleDriverComponents driver() {
        // Without our manager nothing would drop outputs. With an external shuffle service Spark keeps them anyway.
        boolean reliable = SparkEnv.get().shuffleManager() instanceof Owner
                && KeptOutputs.areKept(conf, ShuffleSettings.read(conf))
                && !new SparkSettings(key -> conf.get(key, null)).isServed();
        return reliable ? new ReliableComponents() : new LocalDiskShuffleDriverComponents();
    }

    /** Leaves the removal of a lost executor's map outputs to {@code driver.DriverEndpoint}. */
    private static final class ReliableComponents extends LocalDiskShuffleDriverComponents {
        @Override
        public boolean supportsReliableStorage() {
            return true;
        }
    }

    @Override
    public ShuffleExecutorComponents executor() {
        if (SparkEnv.get().shuffleManager() instanceof Owner owner) {
            return owner.executorComponents();
        }
        LOG.warn("Ignoring {}, set by an earlier application with the RDMA shuffle; remove it", KEY);
        return new LocalDiskShuffleExecutorComponents(conf);
    }
}
