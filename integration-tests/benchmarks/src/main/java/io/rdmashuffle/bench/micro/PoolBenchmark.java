// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.memory.Lease;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.TimeUnit;
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

/** Taking a lease from a pool while others are out, and giving the oldest back. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class PoolBenchmark {
    private static final int LEASE_BYTES = 4096;

    /** Leases outstanding. */
    @Param({"0", "1000"})
    public int leases;

    private final BenchExecutor executor = new BenchExecutor();
    private final Deque<Lease> out = new ArrayDeque<>();

    /** Takes the leases that stay out. */
    @Setup
    public void fill() throws InterruptedException {
        for (int i = 0; i < leases; i++) {
            out.add(executor.lease(LEASE_BYTES));
        }
    }

    /** Releases all. */
    @TearDown
    public void close() {
        out.forEach(Lease::close);
        executor.close();
    }

    @Benchmark
    public long reserveAndRelease() throws InterruptedException {
        Lease lease = executor.lease(LEASE_BYTES);
        out.add(lease);
        out.remove().close();
        return lease.offset();
    }
}
