// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.conf.ShuffleConfig;
import io.rdmashuffle.memory.HostLimits;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolApplication;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.spark.ShuffleSettings;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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

    private static PoolSizing sizing(Path pools, boolean hasPeers, Map<String, String> environment, String... more) {
        return sizing(pools, hasPeers, environment, 64 << 20, more);
    }

    /** On a host that has room only while there is no other pool. */
    private static PoolSizing sizing(
            Path pools, boolean hasPeers, Map<String, String> environment, long containerBytes, String... more) {
        SparkConf conf = new SparkConf(false)
                .set("spark.shuffle.rdma.pool.directory", pools.toString())
                .set("spark.shuffle.rdma.pool.maxSize", "1m")
                .set("spark.shuffle.rdma.pool.onShortage", "fail");
        for (int i = 0; i < more.length; i += 2) {
            conf.set(more[i], more[i + 1]);
        }
        return PoolSizing.on(conf, ShuffleSettings.read(conf), hasPeers, environment::get, wanted -> {
            long free = Objects.requireNonNull(pools.toFile().list()).length == 0 ? 4 << 20 : 0;
            return new HostLimits(free, OptionalLong.of(containerBytes), OptionalLong.empty(), 0, 0);
        });
    }

    /** Spark has given it no id then, though it may run in a container of YARN, as notebooks do. */
    @Test
    void aLocalApplicationKeepsNothing(@TempDir Path pools) {
        Map<String, String> container = Map.of("CONTAINER_ID", "1", "LOCAL_DIRS", pools.toString());
        assertThat(sizing(pools, false, container).settings().application()).isNull();
        assertThat(sizing(pools, true, container, "spark.app.id", "app-1")
                        .settings()
                        .application())
                .isEqualTo(new PoolApplication("app-1", pools));
        assertThat(sizing(pools, true, container, "spark.app.id", "app-1", "spark.shuffle.rdma.fabric.mode", "tcp")
                        .settings()
                        .application())
                .as("peers could not read it")
                .isNull();
    }

    @Test
    void aPoolThatMayNotShrinkTakesTheRoomOfEndedOnes(@TempDir(factory = ShmTempDirs.class) Path pools)
            throws Exception {
        PoolApplication own = new PoolApplication("app-1", pools);
        try (Pool ended =
                Pool.create(new PoolSettings(pools, 1 << 20, 0, 256 << 10, false).outliving(own), region -> {})) {
            ended.leave();
        }
        assertThat(pools).isNotEmptyDirectory();
        Map<String, String> worker = Map.of("SPARK_EXECUTOR_DIRS", pools.toString());
        assertThatThrownBy(() -> sizing(pools, true, worker, "spark.app.id", "app-2"))
                .as("another application's")
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> sizing(pools, true, worker, 1 << 19, "spark.app.id", "app-1"))
                .as("a container has no more memory without them")
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(pools).isNotEmptyDirectory();
        assertThat(sizing(pools, true, worker, "spark.app.id", "app-1").shortage())
                .isEmpty();
        assertThat(pools).isEmptyDirectory();
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
