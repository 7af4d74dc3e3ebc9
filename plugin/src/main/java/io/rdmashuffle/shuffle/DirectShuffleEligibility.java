// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle;

import java.util.Optional;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;

/** Rules for direct shuffles. */
public final class DirectShuffleEligibility {
    public static final String COMPRESS = "spark.shuffle.compress";

    private DirectShuffleEligibility() {}

    /** Returns the reason why a shuffle is not eligible for the direct path; empty if it is. */
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
