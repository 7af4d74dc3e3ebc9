// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.support;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.spark.ShuffleSettings;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("unit")
class KeptOutputsTest {
    private static boolean areKept(String... settings) {
        SparkConf conf = new SparkConf(false).set("spark.shuffle.rdma.pool.directory", "/dev/shm");
        for (int i = 0; i < settings.length; i += 2) {
            conf.set(settings[i], settings[i + 1]);
        }
        return KeptOutputs.areKept(conf, ShuffleSettings.read(conf));
    }

    @Test
    void podsKeepOutputsOnVolumesOfTheirNodeOnly() {
        String master = "k8s://https://127.0.0.1:6443";
        assertThat(areKept("spark.master", "yarn")).isTrue();
        assertThat(areKept("spark.master", master)).isFalse();
        assertThat(areKept(
                        "spark.master",
                        master,
                        "spark.kubernetes.executor.volumes.emptyDir.pool.mount.path",
                        "/dev/shm"))
                .isFalse();
        assertThat(areKept(
                        "spark.master",
                        master,
                        "spark.kubernetes.executor.volumes.hostPath.pool.mount.path",
                        "/dev/shm"))
                .isTrue();
    }

    @Test
    void nothingIsKeptThatPeersCannotRead() {
        assertThat(areKept("spark.shuffle.rdma.fabric.mode", "netty")).isFalse();
        assertThat(areKept("spark.shuffle.rdma.outlive.enabled", "false")).isFalse();
    }
}
