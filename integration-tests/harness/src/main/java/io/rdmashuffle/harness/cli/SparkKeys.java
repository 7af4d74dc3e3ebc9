// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.util.Collection;

/** Examines configuration that a user gave as options. */
public final class SparkKeys {
    private SparkKeys() {}

    /** Throws {@link IllegalArgumentException}, naming the option, for a key that cannot be one of Spark's. */
    public static void check(String option, Collection<String> keys) {
        for (String key : keys) {
            if (!key.startsWith("spark.")) {
                throw new IllegalArgumentException(option + " " + key + ": keys of Spark start with 'spark.'");
            }
        }
    }
}
