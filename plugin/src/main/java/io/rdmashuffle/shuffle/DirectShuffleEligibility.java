// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;

/** Which shuffles are direct. */
public final class DirectShuffleEligibility {
    public static final String COMPRESS = "spark.shuffle.compress";

    private DirectShuffleEligibility() {}

    /** Returns why a shuffle takes Spark's writers and streams; empty if it does not. */
    public static Optional<String> reasonAgainst(SparkConf conf, ShuffleDependency<?, ?, ?> dependency) {
        if (conf.getBoolean("spark.io.encryption.enabled", false)) {
            return Optional.of("spark.io.encryption.enabled=true");
        }
        if (conf.contains(COMPRESS) && conf.getBoolean(COMPRESS, true)) {
            return Optional.of(COMPRESS + "=true is set");
        }
        if (!dependency.serializer().supportsRelocationOfSerializedObjects()) {
            return Optional.of(
                    dependency.serializer().getClass().getSimpleName() + " does not support relocation of its records");
        }
        return Optional.empty();
    }
}
