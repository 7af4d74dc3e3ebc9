// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import io.rdmashuffle.conf.ShuffleConfig;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/** This plugin's keys in Spark's configuration. */
public final class ShuffleSettings {
    private ShuffleSettings() {}

    /**
     * Reads and checks all keys.
     *
     * @throws IllegalArgumentException naming every key that is wrong, with its value, range and unit
     */
    public static ShuffleConfig read(SparkConf conf) {
        Map<String, String> settings = new HashMap<>();
        for (Tuple2<String, String> setting : conf.getAll()) {
            settings.put(setting._1(), setting._2());
        }
        return ShuffleConfig.read(settings);
    }
}
