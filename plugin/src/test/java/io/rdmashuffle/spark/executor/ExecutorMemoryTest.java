// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.TestPools;
import io.rdmashuffle.spark.ShuffleSettings;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ExecutorMemoryTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    @ParameterizedTest
    @CsvSource({"false, 240", "true, 0"})
    void copiesHaveRoomWhenMapOutputsHaveFilledThePool(boolean inPlace, long kilobytesForReads) throws Exception {
        SparkConf conf = new SparkConf(false)
                .set("spark.shuffle.rdma.fabric.mode", "shm")
                .set("spark.shuffle.rdma.fabric.shm.inPlace", String.valueOf(inPlace))
                .set("spark.shuffle.rdma.pool.directory", directory.toString())
                .set("spark.shuffle.rdma.pool.maxSize", "1m")
                .set("spark.shuffle.rdma.pool.regionSize", "1m")
                .set("spark.shuffle.rdma.directory.maxShuffles", "16");
        try (ExecutorMemory memory =
                ExecutorMemory.create(conf, ShuffleSettings.read(conf), new ShuffleCounters(), true)) {
            Pool pool = memory.pool().memory();
            List<Lease> outputs = TestPools.fill(pool);
            long bytes = kilobytesForReads << 10;
            if (bytes > 0) {
                TestPools.reserve(pool, Purpose.RECEIVE, bytes).close();
            }
            assertThat(pool.reserve(Purpose.RECEIVE, bytes + (32 << 10), bytes + (32 << 10), Duration.ZERO))
                    .isNull();
            TestPools.reserve(pool, Purpose.INDEX, 8 << 10).close();
            outputs.forEach(Lease::close);
        }
    }

    private ExecutorMemory create(Map<String, String> settings) {
        SparkConf conf = new SparkConf(false)
                .set("spark.shuffle.rdma.fabric.mode", "shm")
                .set("spark.shuffle.rdma.pool.directory", directory.toString())
                .set("spark.shuffle.rdma.disk.enabled", "false")
                .set("spark.shuffle.rdma.pool.initialSize", "1m")
                .set("spark.shuffle.rdma.pool.regionSize", "1m")
                .set("spark.shuffle.rdma.directory.maxShuffles", "16");
        settings.forEach(conf::set);
        return ExecutorMemory.create(conf, ShuffleSettings.read(conf), new ShuffleCounters(), true);
    }

    @Test
    void removesFilesOfDeadProcessesWhileItLives() throws Exception {
        try (ExecutorMemory memory = create(Map.of())) {
            List<Path> own = TestPools.files(directory);
            Path dead = directory.resolve("rdma-shuffle-" + LibC.load().geteuid() + "-" + UUID.randomUUID());
            Files.createDirectory(
                    dead, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Files.createFile(dead.resolve("0-1-4096"));
            memory.tendFiles((pool, application) -> false);
            assertThat(dead).doesNotExist();
            assertThat(TestPools.files(directory)).isEqualTo(own);
        }
    }

    @Test
    void countsOwnFilesThatAnotherProgramRemoved() throws Exception {
        try (ExecutorMemory memory = create(Map.of())) {
            for (Path file : TestPools.files(directory)) {
                Files.delete(file);
            }
            memory.tendFiles((pool, application) -> false);
            Map<ShuffleCounter, Long> values = new EnumMap<>(ShuffleCounter.class);
            memory.addGauges(values);
            assertThat(values).containsEntry(ShuffleCounter.POOL_FILES_REMOVED, 1L);
        }
    }

    @Test
    void smallHostHasASmallerPool() throws Exception {
        long tooMuch = Files.getFileStore(directory).getTotalSpace() + 1;
        Map<String, String> settings =
                Map.of("spark.shuffle.rdma.pool.maxSize", tooMuch + "b", "spark.shuffle.rdma.pool.regionSize", "1g");
        Map<String, String> refusing = new HashMap<>(settings);
        refusing.put("spark.shuffle.rdma.pool.onShortage", "fail");
        assertThatThrownBy(() -> create(refusing))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("spark.shuffle.rdma.pool.maxSize", "MiB free in " + directory);
        try (ExecutorMemory memory = create(settings)) {
            assertThat(memory.addresses()).containsKey("shm");
            memory.store()
                    .add(
                            1,
                            0,
                            TestOutput.random(memory.pool().memory(), 1, 4, 20_000, new Random(1))
                                    .output());
            assertThat(memory.store().isPooled(1, 1)).isTrue();
        }
    }

    @Test
    void aHostWithoutAnyRoomLeavesMapOutputsToFiles() throws Exception {
        Map<String, String> settings = Map.of(
                "spark.shuffle.rdma.pool.directory", directory.resolve("none").toString());
        try (ExecutorMemory memory = create(settings)) {
            assertThat(memory.addresses())
                    .as("peers use Spark's block transfer")
                    .isEmpty();
            ChunkedOutput output = new ChunkedOutput(memory.pool(), 4096, 0, false);
            assertThat(output.append(new byte[10], 0, 10)).isZero();
            memory.store().addFile(new OutputKey(1, 7), 0, 4, 100);
            Map<ShuffleCounter, Long> gauges = new EnumMap<>(ShuffleCounter.class);
            memory.addGauges(gauges);
            assertThat(gauges)
                    .containsEntry(ShuffleCounter.POOL_USED_BYTES, 0L)
                    .containsEntry(ShuffleCounter.POOL_LEASES, 0L);
        }
        Map<String, String> refusing = new HashMap<>(settings);
        refusing.put("spark.shuffle.rdma.pool.onShortage", "fail");
        assertThatThrownBy(() -> create(refusing)).hasMessageContaining("spark.shuffle.rdma.pool.directory");
    }

    /** Executors stop while tasks run; peers are still reading what the outputs leave. */
    @Test
    void memoryFreedAtTheEndIsNotLeased() throws Exception {
        SparkConf conf = new SparkConf(false)
                .set("spark.shuffle.rdma.pool.directory", directory.toString())
                .set("spark.shuffle.rdma.pool.maxSize", "1m")
                .set("spark.shuffle.rdma.pool.regionSize", "1m")
                .set("spark.shuffle.rdma.directory.maxShuffles", "16");
        ExecutorMemory memory = ExecutorMemory.create(conf, ShuffleSettings.read(conf), new ShuffleCounters(), false);
        Pool pool = memory.pool().memory();
        long mapId = 1;
        while (pool.usage().usedBytes() < 900 << 10) {
            TestOutput made = TestOutput.random(pool, mapId, 4, 20_000, new Random(mapId));
            memory.store().add(1, 0, made.output());
            mapId++;
        }
        CompletableFuture<@Nullable Lease> writer = CompletableFuture.supplyAsync(() -> {
            try {
                return pool.reserve(Purpose.MAP_OUTPUT, 400 << 10, 400 << 10, Duration.ofSeconds(30));
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        // Whether it waits already or comes later: it gets nothing.
        memory.close();
        assertThat(writer.get(30, TimeUnit.SECONDS)).isNull();
    }
}
