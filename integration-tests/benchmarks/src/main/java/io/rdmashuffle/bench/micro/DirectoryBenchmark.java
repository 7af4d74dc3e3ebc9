// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.directory.WantedRange;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Publishing a map output, and finding one partition of it from another process's side; times are of one map output.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class DirectoryBenchmark {
    private static final int OUTPUTS = 200;
    private static final int PARTITIONS = 1_000;

    private final BenchExecutor executor = new BenchExecutor();
    private final RemoteDirectory reader = executor.reader();
    private int partition;

    /** Publishes outputs for lookups. */
    @Setup
    public void publishOnce() throws IOException, InterruptedException {
        for (int mapId = 0; mapId < OUTPUTS; mapId++) {
            executor.publish(mapId, PARTITIONS);
        }
    }

    /** Ends the executor. */
    @TearDown
    public void close() {
        executor.close();
    }

    /** Data is there already: one byte for each partition, whose lease is counted too, as is giving all back. */
    @Benchmark
    @OperationsPerInvocation(OUTPUTS)
    public void publish() throws IOException, InterruptedException {
        executor.store().removeShuffle(BenchExecutor.SHUFFLE);
        publishOnce();
    }

    @Benchmark
    @OperationsPerInvocation(OUTPUTS)
    public List<@Nullable BlockRange> lookup() throws IOException {
        partition = (partition + 1) % PARTITIONS;
        List<WantedRange> wanted = new ArrayList<>(OUTPUTS);
        for (int mapId = 0; mapId < OUTPUTS; mapId++) {
            Located located =
                    Objects.requireNonNull(reader.locate(BenchExecutor.SHUFFLE, mapId), "not in the directory");
            wanted.add(new WantedRange(BenchExecutor.SHUFFLE, located.entry(), partition, partition + 1));
        }
        return reader.ranges(wanted);
    }
}
