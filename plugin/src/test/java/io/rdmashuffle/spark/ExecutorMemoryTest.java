// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.directory.TestOutput;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.store.ShuffleCounters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ExecutorMemoryTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    /** Executors stop while tasks run; peers are still reading what the outputs leave. */
    @Test
    void whatOutputsLeaveAtTheEndIsGivenToNobody() throws Exception {
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
