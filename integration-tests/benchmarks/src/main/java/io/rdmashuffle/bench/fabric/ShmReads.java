// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.fabric.shm.ShmFabric;
import io.rdmashuffle.harness.cli.TextTable;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Reads of the shared-memory fabric, which maps the other pool's file and copies out of it, beside copies of the same
 * size between private memory of this process; in turn, one read or copy at a time.
 *
 * <p><b>Threading:</b> one thread; the fabric copies on its own, of which there is one.
 */
final class ShmReads {
    /** Beside memcpy, from {@link #LARGE_BYTES} on. */
    static final double GOAL = 0.8;

    static final int LARGE_BYTES = 1 << 20;
    /** Below this size calls and thread switches dominate. */
    static final List<Integer> SIZES = List.of(4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20);

    private static final int LEAST_READS = 20;
    private static final int POOL_SLACK = 1 << 20;

    private final List<Integer> sizes;
    private final int rounds;
    private final long bytes;

    /**
     * Configures the measurement.
     *
     * @param rounds how often both are measured, in turn
     * @param bytes of each measurement, at least some reads
     */
    ShmReads(List<Integer> sizes, int rounds, long bytes) {
        this.sizes = sizes;
        this.rounds = rounds;
        this.bytes = bytes;
    }

    /** Bytes per second of both. */
    record Pair(int size, Spread shm, Spread memcpy) {
        double ratio() {
            return shm.median() / memcpy.median();
        }

        Map<String, Object> json() {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("name", "shm-" + size);
            json.put("size", size);
            json.put("shmBytesPerSecond", shm);
            json.put("memcpyBytesPerSecond", memcpy);
            json.put("ratio", ratio());
            return json;
        }
    }

    List<Pair> measure(Path directory) throws Exception {
        int largest = sizes.stream().mapToInt(Integer::intValue).max().orElse(0);
        List<Pair> pairs = new ArrayList<>();
        try (FabricReader reader =
                new FabricReader(directory, largest + POOL_SLACK, () -> new ShmFabric(1, Long.MAX_VALUE / 2, false))) {
            PrivateCopies copies = new PrivateCopies(largest);
            for (int size : sizes) {
                pairs.add(measure(reader, copies, size));
            }
        }
        return pairs;
    }

    private Pair measure(FabricReader reader, PrivateCopies copies, int size) throws Exception {
        int count = (int) Math.max(LEAST_READS, bytes / size);
        reader.run(size, 1, count);
        copies.run(size, count);
        List<Double> shm = new ArrayList<>();
        List<Double> memcpy = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            shm.add((double) size * count / (reader.run(size, 1, count) / 1e9));
            memcpy.add((double) size * count / (copies.run(size, count) / 1e9));
        }
        return new Pair(size, Spread.of(shm), Spread.of(memcpy));
    }

    static String render(List<Pair> pairs) {
        long below = pairs.stream()
                .filter(pair -> pair.size() >= LARGE_BYTES && pair.ratio() < GOAL)
                .count();
        TextTable<Pair> table = new TextTable<Pair>()
                .number("read bytes", pair -> Integer.toString(pair.size()))
                .number("shm GB/s", pair -> pair.shm().dividedBy(1e9).toString())
                .number("memcpy GB/s", pair -> pair.memcpy().dividedBy(1e9).toString())
                .number("shm/memcpy", pair -> String.format(Locale.ROOT, "%.2f", pair.ratio()))
                .number("goal", pair -> pair.size() >= LARGE_BYTES ? ">= " + GOAL : "");
        return table.render(pairs)
                + String.format(
                        Locale.ROOT,
                        "%nGB/s: median (least-greatest); %d of the sizes from 1 MiB on are below a ratio of %.1f",
                        below,
                        GOAL);
    }

    /** Copies between two buffers outside the heap, with the JVM's own routine. */
    private static final class PrivateCopies {
        private final ByteBuffer source;
        private final ByteBuffer target;

        PrivateCopies(int bytes) {
            this.source = ByteBuffer.allocateDirect(bytes);
            this.target = ByteBuffer.allocateDirect(bytes);
        }

        /** Returns nanoseconds. */
        long run(int size, int count) {
            long started = System.nanoTime();
            for (int i = 0; i < count; i++) {
                target.put(0, source, 0, size);
            }
            return System.nanoTime() - started;
        }
    }
}
