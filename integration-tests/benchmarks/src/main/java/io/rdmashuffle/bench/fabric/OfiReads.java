// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.ofi.OfiFabric;
import io.rdmashuffle.fabric.ofi.OfiSettings;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads of the libfabric fabric, in turn with a C program that reads the same bytes over the same provider.
 *
 * <p>Of this process both fabrics have a thread that polls while reads are under way; of the C program both processes
 * poll.
 *
 * <p><b>Threading:</b> one thread measures.
 */
final class OfiReads {
    static final List<Integer> SIZES = List.of(4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20);
    private static final long BYTES = 4L << 30;
    /** On an emulated machine. */
    private static final long VERBS_BYTES = 16 << 20;

    private static final int POOL_BYTES = 256 << 20;
    private static final int LEAST_READS = 50;
    private static final int MOST_READS = 50_000;

    private final String provider;
    private final String address;
    private final int rounds;
    private final long bytes;

    /**
     * Prepares to measure.
     *
     * @param provider of libfabric
     * @param address IP address of the device to use; empty for the provider's first
     * @param rounds how often both are measured, in turn
     * @param bytes of each measurement, as far as a measurement has not too many reads; 0 for the default
     */
    OfiReads(String provider, String address, int rounds, long bytes) {
        this.provider = provider;
        this.address = address;
        this.rounds = rounds;
        this.bytes = bytes > 0 ? bytes : provider.startsWith("verbs") ? VERBS_BYTES : BYTES;
    }

    /** Bytes a second of both; those of the C program are missing where it cannot be built. */
    record Pair(int size, int depth, List<Double> ours, List<Double> c) {
        /** Returns the median ratio of neighbouring measurements; 0 without the C program. */
        double ratio() {
            double[] ratios = new double[c.size()];
            Arrays.setAll(ratios, i -> ours.get(i) / c.get(i));
            return ratios.length == 0
                    ? 0
                    : Spread.of(Arrays.stream(ratios).boxed().toList()).median();
        }

        Map<String, Object> json() {
            return Map.of(
                    "name", "ofi-" + size + "-" + depth,
                    "size", size,
                    "depth", depth,
                    "oursBytesPerSecond", ours,
                    "cProgramBytesPerSecond", c,
                    "ratio", ratio());
        }
    }

    List<Pair> measure(Path directory, List<Integer> sizes, List<Integer> depths) throws Exception {
        List<Pair> pairs = new ArrayList<>();
        try (CProgram program = CProgram.build("ofi_reads", "-lfabric");
                FabricReader reader = new FabricReader(directory, POOL_BYTES, this::fabric)) {
            for (int size : sizes) {
                for (int depth : depths) {
                    Pair pair = measure(reader, program, size, depth);
                    System.err.printf(Locale.ROOT, "%d bytes, depth %d: ratio %.2f%n", size, depth, pair.ratio());
                    pairs.add(pair);
                }
            }
        }
        return pairs;
    }

    private Pair measure(FabricReader reader, @Nullable CProgram program, int size, int depth) throws Exception {
        int count = (int) Math.min(MOST_READS, Math.max(LEAST_READS, bytes / size));
        double total = (double) size * count * 1e9;
        reader.run(size, depth, count);
        List<Double> ours = new ArrayList<>();
        List<Double> c = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            ours.add(total / reader.run(size, depth, count));
            if (program != null) {
                c.add(total
                        / program.run(
                                        provider,
                                        address.isEmpty() ? "-" : address,
                                        Integer.toString(size),
                                        Integer.toString(depth),
                                        Integer.toString(count))[0]);
            }
        }
        return new Pair(size, depth, ours, c);
    }

    private Fabric fabric() {
        try {
            InetAddress host = address.isEmpty() ? null : InetAddress.getByName(address);
            return OfiFabric.open(
                    new OfiSettings(provider, List.of(), host, Duration.ofSeconds(20), Long.MAX_VALUE / 2));
        } catch (RdmaUnavailableException | UnknownHostException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    static String render(List<Pair> pairs) {
        return new TextTable<Pair>()
                .number("read bytes", pair -> Integer.toString(pair.size()))
                .number("depth", pair -> Integer.toString(pair.depth()))
                .number(
                        "ours GB/s",
                        pair -> Spread.of(pair.ours()).dividedBy(1e9).toString())
                .number(
                        "C GB/s",
                        pair -> pair.c().isEmpty()
                                ? ""
                                : Spread.of(pair.c()).dividedBy(1e9).toString())
                .number("ours/C", pair -> pair.c().isEmpty() ? "" : String.format(Locale.ROOT, "%.2f", pair.ratio()))
                .render(pairs);
    }
}
