// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import com.sun.management.ThreadMXBean;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpFabric;
import io.rdmashuffle.fabric.tcp.TcpSettings;
import io.rdmashuffle.harness.cli.TextTable;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads of the TCP fabric over the loopback device: CPU time of the owner's and the reader's thread for a gigabyte, and
 * garbage of a read; in turn with a C program that reads the same bytes.
 *
 * <p><b>Threading:</b> one thread measures; the fabric has one that reads and one that serves.
 */
final class TcpReads {
    /** Bytes of each measurement. */
    static final long BYTES = 2L << 30;

    private static final int DEPTH = 8;
    private static final int POOL_BYTES = 64 << 20;
    private static final int LEAST_READS = 50;
    private static final List<Shape> SHAPES =
            List.of(new Shape(256 << 10, 256), new Shape(64 << 10, 1), new Shape(256 << 10, 1), new Shape(1 << 20, 1));

    private final int rounds;
    private final long bytes;

    /**
     * Prepares to measure.
     *
     * @param rounds how often both are measured, in turn
     * @param bytes of each measurement
     */
    TcpReads(int rounds, long bytes) {
        this.rounds = rounds;
        this.bytes = bytes;
    }

    /** A request of some bytes in slices of equal length. */
    private record Shape(int bytes, int slices) {
        @Override
        public String toString() {
            return slices == 1 ? bytes / 1024 + " KiB" : slices + " x " + bytes / slices / 1024 + " KiB";
        }
    }

    /** One measurement: CPU seconds of both sides for 10^9 bytes, and bytes a second. */
    private record Cost(double owner, double reader, double rate, double garbage) {
        double both() {
            return owner + reader;
        }
    }

    /** Costs of one shape; those of the C program are missing where it cannot be built. */
    record Result(
            String shape, List<Double> owner, List<Double> both, List<Double> rate, List<Double> c, double garbage) {
        /** Returns the median ratio of CPU time of neighbouring measurements; 0 without the C program. */
        double ratio() {
            double[] ratios = new double[c.size()];
            Arrays.setAll(ratios, i -> both.get(i) / c.get(i));
            Arrays.sort(ratios);
            return ratios.length == 0 ? 0 : ratios[ratios.length / 2];
        }

        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("name", "tcp-" + shape);
            json.put("ownerCpuSecondsPerGigabyte", owner);
            json.put("cpuSecondsPerGigabyte", both);
            json.put("bytesPerSecond", rate);
            json.put("cProgramCpuSecondsPerGigabyte", c);
            json.put("garbageBytesPerRead", garbage);
            return json;
        }
    }

    List<Result> measure(Path directory) throws Exception {
        List<Result> results = new ArrayList<>();
        try (CProgram program = CProgram.build("tcp_reads");
                FabricReader reader = new FabricReader(directory, POOL_BYTES, TcpReads::fabric)) {
            for (Shape shape : SHAPES) {
                results.add(measure(reader, program, shape));
            }
        }
        return results;
    }

    private Result measure(FabricReader reader, @Nullable CProgram program, Shape shape) throws Exception {
        int count = (int) Math.max(LEAST_READS, bytes / shape.bytes());
        reader.run(shape.bytes(), shape.slices(), DEPTH, count);
        List<Cost> ours = new ArrayList<>();
        List<Double> c = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            ours.add(ours(reader, shape, count));
            if (program != null) {
                c.add(ofProgram(program, shape, count));
            }
        }
        return new Result(
                shape.toString(),
                ours.stream().map(Cost::owner).toList(),
                ours.stream().map(Cost::both).toList(),
                ours.stream().map(Cost::rate).toList(),
                c,
                ours.stream().mapToDouble(Cost::garbage).min().orElse(0));
    }

    private static Cost ours(FabricReader reader, Shape shape, int count) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long serving = idOf("rdma-tcp-serve-0");
        long reading = idOf("rdma-tcp-read-0");
        long owner = threads.getThreadCpuTime(serving);
        long read = threads.getThreadCpuTime(reading);
        long allocated = threads.getThreadAllocatedBytes(serving) + threads.getThreadAllocatedBytes(reading);
        long nanos = reader.run(shape.bytes(), shape.slices(), DEPTH, count);
        double total = (double) shape.bytes() * count;
        long garbage = threads.getThreadAllocatedBytes(serving) + threads.getThreadAllocatedBytes(reading) - allocated;
        return new Cost(
                (threads.getThreadCpuTime(serving) - owner) / total,
                (threads.getThreadCpuTime(reading) - read) / total,
                total / nanos * 1e9,
                (double) garbage / count);
    }

    private static long idOf(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .mapToLong(Thread::getId)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no thread " + name));
    }

    /** Returns CPU seconds for 10^9 bytes. */
    private static double ofProgram(CProgram program, Shape shape, int count) throws IOException, InterruptedException {
        long[] figures = program.run(Integer.toString(shape.bytes()), Integer.toString(DEPTH), Integer.toString(count));
        return (double) (figures[1] + figures[2]) / ((double) shape.bytes() * count);
    }

    private static TcpFabric fabric() {
        return new TcpFabric(new TcpSettings(
                () -> TcpSettings.Host.of("127.0.0.1"),
                TcpSettings.Ports.ANY,
                1,
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                Long.MAX_VALUE / 2,
                Secret.NONE));
    }

    static String render(List<Result> results) {
        TextTable<Result> table = new TextTable<Result>()
                .number("read", Result::shape)
                .number("owner s/GB", result -> Spread.of(result.owner()).toString())
                .number("both s/GB", result -> Spread.of(result.both()).toString())
                .number(
                        "GB/s",
                        result -> Spread.of(result.rate()).dividedBy(1e9).toString())
                .number(
                        "C s/GB",
                        result -> result.c().isEmpty()
                                ? ""
                                : Spread.of(result.c()).toString())
                .number(
                        "ours/C",
                        result -> result.c().isEmpty() ? "" : String.format(Locale.ROOT, "%.2f", result.ratio()))
                .number("garbage/read", result -> String.format(Locale.ROOT, "%.1f B", result.garbage()));
        return table.render(results) + "\n" + DEPTH
                + " reads outstanding; CPU seconds for 10^9 bytes: median (least-greatest)";
    }
}
