// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.PoolSettings;
import io.rdmashuffle.memory.Purpose;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A lease released and taken again in a pool of many regions that is full but for that lease. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class RegionsBenchmark {
    private static final int REGION_BYTES = 64 << 10;

    /** A step that is prime to the number of leases, so that holes are anywhere. */
    private static final int STEP = 7919;

    /** Regions of the pool: 1,600 are 400 GB in regions of 256 MB. */
    @Param({"16", "160", "1600"})
    public int regions;

    private @Nullable Pool pool;
    private Lease[] leases = new Lease[0];
    private int at;

    /** Fills the pool, two leases to a region. */
    @Setup
    public void fill() throws InterruptedException {
        long bytes = (long) regions * REGION_BYTES;
        pool = Pool.create(new PoolSettings(Path.of("/dev/shm"), bytes, bytes, REGION_BYTES, false), region -> {});
        leases = new Lease[2 * regions];
        for (int i = 0; i < leases.length; i++) {
            leases[i] = lease();
        }
    }

    private Lease lease() throws InterruptedException {
        int bytes = REGION_BYTES / 2;
        return Objects.requireNonNull(
                Objects.requireNonNull(pool).reserve(Purpose.MAP_OUTPUT, bytes, bytes, Duration.ZERO),
                "the pool is full");
    }

    /** Returns all memory. */
    @TearDown
    public void close() {
        for (Lease lease : leases) {
            lease.close();
        }
        Objects.requireNonNull(pool).close();
    }

    @Benchmark
    public long releaseAndReserve() throws InterruptedException {
        at = (at + STEP) % leases.length;
        leases[at].close();
        leases[at] = lease();
        return leases[at].offset();
    }
}
