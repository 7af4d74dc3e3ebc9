// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.conf.ShuffleConfig;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** How small the regions of a pool may become whose directory is short. */
@Tag("unit")
class PoolSizingTest {
    private static final long PAGE_BYTES = 4096;

    private static long least(long pageBytes, String key, String value) {
        return PoolSizing.leastRegionBytes(ShuffleConfig.read(Map.of("spark.shuffle.rdma." + key, value)), pageBytes);
    }

    private static boolean outlivesPod(String localDirectories, boolean hasDisk, String... mounts) {
        SparkConf conf = new SparkConf(false);
        for (int i = 0; i < mounts.length; i++) {
            conf.set("spark.kubernetes.executor.volumes.hostPath.v" + i + ".mount.path", mounts[i]);
            conf.set("spark.kubernetes.executor.volumes.hostPath.v" + i + ".options.path", "/of-the-node");
        }
        conf.set("spark.kubernetes.executor.volumes.emptyDir.other.mount.path", "/elsewhere");
        ShuffleConfig config = ShuffleConfig.read(Map.of(
                "spark.shuffle.rdma.pool.directory",
                "/dev/shm/spark",
                "spark.shuffle.rdma.disk.enabled",
                Boolean.toString(hasDisk)));
        return PoolSizing.outlivesPod(conf, config, localDirectories);
    }

    @Test
    void filesOutliveAPodOnVolumesOfItsNodeOnly() {
        assertThat(outlivesPod("/elsewhere", false, "/dev/shm")).isTrue();
        assertThat(outlivesPod("/elsewhere", false, "/dev/shm/")).isTrue();
        assertThat(outlivesPod("/elsewhere", false, "/dev/sh")).isFalse();
        assertThat(outlivesPod("/elsewhere", false)).isFalse();
        assertThat(outlivesPod("/elsewhere", true, "/dev/shm"))
                .as("the disk tier ends with the pod")
                .isFalse();
        assertThat(outlivesPod("/local/1,/local/2", true, "/dev/shm", "/local")).isTrue();
        assertThat(outlivesPod("/local/1,/elsewhere", true, "/dev/shm", "/local"))
                .isFalse();
    }

    @Test
    void aRegionHoldsPageAndChunkAndTable() {
        assertThat(least(PAGE_BYTES, "directory.maxShuffles", "16")).isEqualTo(1 << 20);
        assertThat(least(PAGE_BYTES, "directory.maxShuffles", "65536")).isGreaterThan(4 * 64 * 65536L);
        assertThat(least(PAGE_BYTES, "pool.chunkSize", "8m")).isEqualTo(8 << 20);
        assertThat(least(2 << 20, "pool.chunkSize", "64k")).as("huge pages").isEqualTo(2 << 20);
    }

    @Test
    void aPoolHasFewerRegionsThanAProcessMayMap() {
        assertThat(least(PAGE_BYTES, "pool.maxSize", "1t")).isEqualTo((1L << 40) / 65536);
    }
}
