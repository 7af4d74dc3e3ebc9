// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.conf.SparkSettings;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.spark.SparkConf;

/**
 * Whether map outputs of executors that have ended are kept, as an application's configuration has it.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> {@code spark.kubernetes.executor.volumes}, Running Spark on Kubernetes.
 */
public final class KeptOutputs {
    private static final String VOLUMES = "spark.kubernetes.executor.volumes.hostPath.";
    private static final String MOUNT = ".mount.path";

    private KeptOutputs() {}

    /**
     * Returns whether the driver keeps them, and executors look for heirs; on Kubernetes only those in pools on a
     * volume of the node.
     */
    public static boolean areKept(SparkConf conf, ShuffleConfig config) {
        boolean inPods = conf.get("spark.master", "").startsWith("k8s:");
        return new SparkSettings(key -> conf.get(key, null)).keepsOutputs(config)
                && (!inPods || isOnNode(conf, Path.of(config.get(ShuffleConfig.POOL_DIRECTORY))));
    }

    /**
     * Returns whether a directory of an executor's pod lies on a volume of its Kubernetes node, which other pods share
     * and which outlives each of them.
     */
    public static boolean isOnNode(SparkConf conf, Path directory) {
        Path inside = directory.toAbsolutePath().normalize();
        return Arrays.stream(conf.getAllWithPrefix(VOLUMES))
                .filter(entry -> entry._1().endsWith(MOUNT))
                .anyMatch(entry -> inside.startsWith(Path.of(entry._2()).normalize()));
    }
}
