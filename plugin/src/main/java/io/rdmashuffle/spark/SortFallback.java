package io.rdmashuffle.spark;

import io.rdmashuffle.conf.FabricMode;
import io.rdmashuffle.conf.ShuffleConfig;
import java.nio.ByteOrder;
import java.util.Optional;
import org.apache.spark.SparkConf;

/** Settings under which a whole application is served by Spark's sort shuffle instead, and why. */
final class SortFallback {
    static final String DATA_IO_KEY = "spark.shuffle.sort.io.plugin.class";

    private SortFallback() {}

    /** Removes the key that an earlier application with the pool left in a configuration that was used again. */
    static void removeOwnDataIO(SparkConf conf) {
        if (conf.get(DATA_IO_KEY, "").equals(PoolDataIO.class.getName())) {
            conf.remove(DATA_IO_KEY);
        }
    }

    /** Returns why the pool is not used, in words for the user; empty when it is. */
    static Optional<String> reason(SparkConf conf, ShuffleConfig config) {
        if (config.fabricMode() == FabricMode.SORT) {
            return Optional.of("spark.shuffle.rdma.fabric.mode=sort asks for it");
        }
        if (ByteOrder.nativeOrder() != ByteOrder.LITTLE_ENDIAN) {
            return Optional.of("registered memory is laid out little-endian and this machine is not");
        }
        if (conf.getBoolean("spark.shuffle.service.enabled", false)) {
            return Optional.of(
                    "spark.shuffle.service.enabled=true: the external service serves files, not an executor's"
                            + " memory; set it to false (dynamic allocation then needs"
                            + " spark.dynamicAllocation.shuffleTracking.enabled=true)");
        }
        if (conf.getBoolean("spark.shuffle.push.enabled", false)) {
            return Optional.of("spark.shuffle.push.enabled=true merges files on external services; set it to false");
        }
        if (conf.getBoolean("spark.shuffle.useOldFetchProtocol", false)) {
            return Optional.of("spark.shuffle.useOldFetchProtocol=true; set it to false");
        }
        String dataIo = conf.get(DATA_IO_KEY, PoolDataIO.class.getName());
        if (!dataIo.equals(PoolDataIO.class.getName())) {
            return Optional.of(DATA_IO_KEY + "=" + dataIo + " puts map outputs elsewhere; remove it");
        }
        return Optional.empty();
    }
}
