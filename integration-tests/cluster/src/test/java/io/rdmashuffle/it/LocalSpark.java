// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import java.util.Map;
import org.apache.spark.sql.SparkSession;

/** A Spark application that is its own and only executor. */
final class LocalSpark {
    private LocalSpark() {}

    /** Starts one with our shuffle on two cores; the configuration given wins. The caller closes it. */
    static SparkSession start(Map<String, String> conf) {
        SparkSession.Builder builder = SparkSession.builder()
                .master("local[2]")
                .config("spark.ui.enabled", "false")
                .config(
                        "spark.sql.warehouse.dir",
                        Workspace.find()
                                .target("cluster")
                                .resolve("it/warehouse")
                                .toString());
        ShuffleMode.AUTO.conf().forEach(builder::config);
        conf.forEach(builder::config);
        return builder.getOrCreate();
    }
}
