// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import java.nio.file.Path;
import java.util.Arrays;
import org.apache.spark.SparkConf;

/**
 * Volumes of a Kubernetes node that executor pods share, and that outlive each of them.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> {@code spark.kubernetes.executor.volumes}, Running Spark on Kubernetes.
 */
final class NodeVolumes {
    private static final String PREFIX = "spark.kubernetes.executor.volumes.hostPath.";
    private static final String MOUNT = ".mount.path";

    private NodeVolumes() {}

    /** Returns whether a directory of an executor's pod lies on such a volume. */
    static boolean contain(SparkConf conf, Path directory) {
        Path inside = directory.toAbsolutePath().normalize();
        return Arrays.stream(conf.getAllWithPrefix(PREFIX))
                .filter(entry -> entry._1().endsWith(MOUNT))
                .anyMatch(entry -> inside.startsWith(Path.of(entry._2()).normalize()));
    }
}
