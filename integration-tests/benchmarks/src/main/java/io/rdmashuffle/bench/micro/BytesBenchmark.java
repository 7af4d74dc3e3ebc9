// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.conf.DiskCompression;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.shuffle.buffer.MovingBytes;
import io.rdmashuffle.shuffle.buffer.SliceInputStream;
import io.rdmashuffle.shuffle.write.CompressionChoice;
import io.rdmashuffle.shuffle.write.PoolExecutorComponents;
import io.rdmashuffle.store.PoolLimits;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.shuffle.api.ShuffleMapOutputWriter;
import org.apache.spark.shuffle.sort.io.LocalDiskShuffleExecutorComponents;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A map output of 1 MB in 200 partitions: writing it into the pool, checksums and publishing included; reading it. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class BytesBenchmark {
    private static final int PARTITIONS = 200;
    private static final int PARTITION_BYTES = 5_000;
    private static final long CHUNK_BYTES = 1 << 20;
    private static final long LIMIT_BYTES = 256L << 20;
    private static final int READ_BUFFER = 8_192;
    /** A record's length and a small row, as a deserializer asks for them. */
    private static final int RECORD_BYTES = 100;

    private static final long READ_MAP = 0;

    private final BenchExecutor executor = new BenchExecutor();
    private final PoolExecutorComponents components = new PoolExecutorComponents(
            TieredPool.of(executor.pool()),
            executor.store(),
            CHUNK_BYTES,
            new PoolLimits(LIMIT_BYTES, LIMIT_BYTES, 100),
            new CompressionChoice(DiskCompression.NEVER, false),
            new LocalDiskShuffleExecutorComponents(new SparkConf(false)));
    private final byte[] content = new byte[PARTITION_BYTES];
    private final byte[] buffer = new byte[READ_BUFFER];

    /** Writes the data for reads. */
    @Setup
    public void writeOnce() throws IOException {
        new Random(1).nextBytes(content);
        write(READ_MAP);
    }

    /** Ends the executor. */
    @TearDown
    public void close() {
        executor.close();
    }

    @Benchmark
    public void write() throws IOException {
        executor.store().removeShuffle(BenchExecutor.SHUFFLE);
        write(READ_MAP);
    }

    @Benchmark
    public long readBuffers() throws IOException {
        return read(READ_BUFFER);
    }

    @Benchmark
    public long readRecords() throws IOException {
        return read(RECORD_BYTES);
    }

    private void write(long mapId) throws IOException {
        ShuffleMapOutputWriter writer = components.createMapOutputWriter(BenchExecutor.SHUFFLE, mapId, PARTITIONS);
        for (int partition = 0; partition < PARTITIONS; partition++) {
            try (OutputStream stream = writer.getPartitionWriter(partition).openStream()) {
                stream.write(content, 0, content.length);
            }
        }
        writer.commitAllPartitions(new long[PARTITIONS]);
    }

    private long read(int atOnce) throws IOException {
        MapOutput output =
                Objects.requireNonNull(executor.store().acquire(BenchExecutor.SHUFFLE, READ_MAP), "not in the pool");
        try {
            List<StoredSlice> slices = output.bytes(output.range(0, PARTITIONS));
            long bytes = 0;
            MovingBytes.Place place = new MovingBytes.Place(slices, () -> true);
            try (SliceInputStream stream = SliceInputStream.over(place, from -> null)) {
                for (int count = 0; count >= 0; count = stream.read(buffer, 0, atOnce)) {
                    bytes += count;
                }
            }
            return bytes;
        } finally {
            output.release();
        }
    }
}
