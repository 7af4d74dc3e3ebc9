// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.micro;

import io.rdmashuffle.shuffle.format.CodecCost;
import io.rdmashuffle.shuffle.format.FrameCodec;
import io.rdmashuffle.shuffle.format.Frames;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** Compressing and reading blocks of rows like those of TPC-DS, nanoseconds for each bare byte. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@OperationsPerInvocation(FramesBenchmark.BYTES)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class FramesBenchmark {
    static final int BYTES = 1 << 20;

    private static final int NUMBERS = 7;
    private static final int STRINGS = 4;
    private static final int DISTINCT_STRINGS = 2_000;
    private static final int FIRST_DAY = 2_450_815;
    private static final int DAYS = 1_826;
    private static final int KEYS = 100_000;
    private static final int CENTS = 20_000;

    @Param({"APPLICATION", "ZSTD", "ROWS"})
    public FrameCodec codec = FrameCodec.ROWS;

    /** Whether a row has strings beside its numbers. */
    @Param({"false", "true"})
    public boolean strings;

    @Param({"8192", "262144"})
    public int blockBytes;

    private final Frames frames = Frames.of(new SparkConf(false));
    private final Random random = new Random(1);
    private final List<byte[]> blocks = new ArrayList<>();
    private final List<byte[]> stored = new ArrayList<>();
    private final byte[] buffer = new byte[64 << 10];

    /** Creates blocks of about the requested size, and prints their compressed sizes. */
    @Setup
    public void fill() throws IOException {
        long bytes = 0;
        long storedBytes = 0;
        for (int i = 0; i < BYTES / blockBytes; i++) {
            byte[] block = block();
            byte[] compressed = compressed(block);
            blocks.add(block);
            stored.add(compressed);
            bytes += block.length;
            storedBytes += compressed.length;
        }
        System.out.printf("%,d bytes in blocks, %.3f of them stored%n", bytes, (double) storedBytes / bytes);
    }

    private byte[] block() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        UnsafeRowWriter writer = new UnsafeRowWriter(NUMBERS + (strings ? STRINGS : 0));
        while (out.size() < blockBytes) {
            byte[] row = row(writer).getBytes();
            out.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(row.length).array());
            out.writeBytes(row);
        }
        return out.toByteArray();
    }

    /** As of store_sales: a day, keys, a quantity, prices; some without a key. */
    private UnsafeRow row(UnsafeRowWriter writer) {
        writer.reset();
        writer.zeroOutNullBytes();
        writer.write(0, FIRST_DAY + random.nextInt(DAYS));
        writer.write(1, 1 + random.nextInt(KEYS));
        writer.write(2, 1L + random.nextInt(KEYS));
        writer.write(3, 1 + random.nextInt(100));
        for (int i = 4; i < NUMBERS; i++) {
            long cents = random.nextInt(CENTS);
            // A profit may be a loss.
            writer.write(i, i == NUMBERS - 1 ? cents - CENTS / 2 : cents);
        }
        if (random.nextInt(50) == 0) {
            writer.setNullAt(1);
        }
        if (strings) {
            for (int i = 0; i < STRINGS; i++) {
                long value = random.nextInt(DISTINCT_STRINGS) * 1_000_003L;
                writer.write(NUMBERS + i, UTF8String.fromString(Long.toString(value * value, Character.MAX_RADIX)));
            }
        }
        return writer.getRow();
    }

    private byte[] compressed(byte[] block) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream(block.length);
        try (OutputStream stream = frames.compress(out, codec, new CodecCost())) {
            stream.write(block);
        }
        return out.toByteArray();
    }

    @Benchmark
    public long compress() throws IOException {
        long bytes = 0;
        for (byte[] block : blocks) {
            bytes += compressed(block).length;
        }
        return bytes;
    }

    @Benchmark
    public long read() throws IOException {
        long bytes = 0;
        for (byte[] block : stored) {
            try (InputStream in = frames.open(new ByteArrayInputStream(block))) {
                for (int count = 0; count >= 0; count = in.read(buffer, 0, buffer.length)) {
                    bytes += count;
                }
            }
        }
        return bytes;
    }
}
