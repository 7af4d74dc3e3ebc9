// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.perftest.Perftest;
import io.rdmashuffle.bench.perftest.Perftest.Operation;
import io.rdmashuffle.bench.perftest.TestedDevice;
import io.rdmashuffle.harness.cli.Tool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * READ, WRITE, SEND and atomics of native-verbs beside perftest's programs: same sizes, same depths, in turn, in one
 * run; futures ({@code verbs.async}) and queue pairs ({@code verbs}).
 */
@Command(
        name = "bench verbs",
        description = {
            "The native-verbs library beside perftest, in one run: bandwidth, latency and garbage of READ, WRITE, SEND"
                    + " and fetch-and-add, with futures (async) and with queue pairs (pairs). Ratios of medians.",
            ""
        },
        showDefaultValues = true)
public final class VerbsBench extends Tool {
    private static final int SMALL_BYTES = 64 << 10;
    private static final int DEEP = 16;
    private static final double GOAL = 0.85;
    private static final int ATOMIC_BYTES = 8;
    private static final int LATENCY_BYTES = 64;
    private static final int MIN_OPERATIONS = 50;

    @Option(names = "--device", defaultValue = "rxe0", description = "RDMA device")
    private String device = "";

    @Option(names = "--sizes", split = ",", defaultValue = "4096,65536,1048576", description = "bytes of one operation")
    private List<Integer> sizes = List.of();

    @Option(names = "--depths", split = ",", defaultValue = "1,16", description = "operations outstanding")
    private List<Integer> depths = List.of();

    @Option(names = "--rounds", defaultValue = "3", description = "how often each is measured, in turn")
    private int rounds;

    @Option(
            names = "--bytes",
            defaultValue = "16777216",
            description = "bytes to move in each measurement, at least " + MIN_OPERATIONS + " operations")
    private long bytes;

    @Option(names = "--latency-operations", defaultValue = "500", description = "operations timed one by one")
    private int latencyOperations;

    @Option(names = "--json", description = "write all figures to a file as JSON, too")
    private @Nullable Path json;

    VerbsBench() {}

    /** Called by {@code bin/bench verbs}. */
    public static void main(String[] args) {
        run(new VerbsBench(), args);
    }

    /** Bandwidths of one operation, in bytes per second, and garbage in bytes per operation. */
    private record Row(
            Operation operation,
            int size,
            int depth,
            Spread async,
            Spread pairs,
            Spread perftest,
            double asyncGarbage,
            double pairsGarbage) {
        double asyncRatio() {
            return async.median() / perftest.median();
        }

        double pairsRatio() {
            return pairs.median() / perftest.median();
        }
    }

    /** Microseconds: medians and 99 % of one operation after another. */
    private record LatencyRow(
            Operation operation,
            int size,
            double async,
            double pairs,
            double pairs99,
            double perftest,
            double perftest99) {}

    @Override
    public Integer call() throws Exception {
        check(this::checkOptions);
        TestedDevice tested = TestedDevice.find(device);
        Perftest perftest = new Perftest(tested);
        List<Row> rows = new ArrayList<>();
        List<LatencyRow> latencies = new ArrayList<>();
        int deepest = Collections.max(depths);
        long regionBytes = Math.max(1 << 20, (long) deepest * Collections.max(sizes));
        try (AsyncLoad async = new AsyncLoad(tested.address(), regionBytes, deepest);
                QueuePairLoad pairs = new QueuePairLoad(tested.address(), regionBytes, deepest)) {
            for (Operation operation : Operation.values()) {
                String hindrance = hindrance(operation, tested);
                if (hindrance != null) {
                    out.println(operation + " is left out: " + hindrance);
                    continue;
                }
                // Warm-up: what is measured is compiled code.
                async.run(operation, ATOMIC_BYTES, DEEP, 2_000);
                pairs.run(operation, ATOMIC_BYTES, DEEP, 2_000);
                for (int size : operation == Operation.FETCH_AND_ADD ? List.of(ATOMIC_BYTES) : sizes) {
                    for (int depth : depths) {
                        rows.add(compare(operation, size, depth, async, pairs, perftest));
                    }
                }
                latencies.add(latency(operation, async, pairs, perftest));
            }
        }
        report(rows, latencies);
        return CommandLine.ExitCode.OK;
    }

    /** Returns why an operation cannot be measured on a device, null if it can. */
    private static @Nullable String hindrance(Operation operation, TestedDevice on) {
        if (operation == Operation.FETCH_AND_ADD && !on.atomics()) {
            return on.name() + " has no atomics";
        }
        if (operation == Operation.SEND && on.iwarp()) {
            return "on iWARP nothing holds a sender back until its peer has posted a receive";
        }
        return null;
    }

    private void checkOptions() {
        if (rounds <= 0 || bytes <= 0 || latencyOperations <= 0 || sizes.isEmpty() || depths.isEmpty()) {
            throw new IllegalArgumentException(
                    "--rounds, --bytes, --latency-operations, --sizes and --depths: must be whole numbers above 0");
        }
        if (sizes.stream().anyMatch(size -> size < ATOMIC_BYTES)
                || depths.stream().anyMatch(depth -> depth < 1)) {
            throw new IllegalArgumentException("--sizes: must be 8 and more; --depths: must be 1 and more");
        }
    }

    private Row compare(
            Operation operation, int size, int depth, AsyncLoad async, QueuePairLoad pairs, Perftest perftest)
            throws Exception {
        int count = (int) Math.max(MIN_OPERATIONS, Math.min(bytes / size, 20_000));
        List<Double> ours = new ArrayList<>();
        List<Double> lower = new ArrayList<>();
        List<Double> theirs = new ArrayList<>();
        double asyncGarbage = Double.MAX_VALUE;
        double pairsGarbage = Double.MAX_VALUE;
        for (int round = 0; round < rounds; round++) {
            Load.Measured futures = async.run(operation, size, depth, count);
            Load.Measured bare = pairs.run(operation, size, depth, count);
            ours.add(bandwidth(size, count, futures));
            lower.add(bandwidth(size, count, bare));
            theirs.add(perftest.bandwidth(operation, size, depth, count));
            asyncGarbage = Math.min(asyncGarbage, futures.garbageBytes() / (double) count);
            pairsGarbage = Math.min(pairsGarbage, bare.garbageBytes() / (double) count);
        }
        Row row = new Row(
                operation,
                size,
                depth,
                Spread.of(ours),
                Spread.of(lower),
                Spread.of(theirs),
                asyncGarbage,
                pairsGarbage);
        System.err.printf(
                Locale.ROOT,
                "%s of %d bytes, depth %d: async %.2f, pairs %.2f of %s%n",
                operation,
                size,
                depth,
                row.asyncRatio(),
                row.pairsRatio(),
                operation.bandwidthProgram());
        return row;
    }

    private static double bandwidth(int size, int count, Load.Measured measured) {
        return (double) size * count / (measured.nanos() / 1e9);
    }

    private LatencyRow latency(Operation operation, AsyncLoad async, QueuePairLoad pairs, Perftest perftest)
            throws Exception {
        int size = operation == Operation.FETCH_AND_ADD ? ATOMIC_BYTES : LATENCY_BYTES;
        async.latencies(operation, size, latencyOperations / 5);
        pairs.latencies(operation, size, latencyOperations / 5);
        long[] futures = async.latencies(operation, size, latencyOperations);
        long[] bare = pairs.latencies(operation, size, latencyOperations);
        List<Double> theirs = perftest.latency(operation, size, latencyOperations);
        return new LatencyRow(
                operation,
                size,
                percentile(futures, 0.5),
                percentile(bare, 0.5),
                percentile(bare, 0.99),
                theirs.get(0),
                theirs.get(2));
    }

    private static double percentile(long[] nanos, double fraction) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.min(sorted.length - 1L, (long) (fraction * sorted.length))] / 1e3;
    }

    private void report(List<Row> rows, List<LatencyRow> latencies) throws Exception {
        out.println(AsciiTable.getTable(
                rows,
                Arrays.asList(
                        new Column()
                                .header("operation")
                                .with(row -> row.operation().name()),
                        new Column().header("bytes").with(row -> Integer.toString(row.size())),
                        new Column().header("depth").with(row -> Integer.toString(row.depth())),
                        new Column().header("async MB/s").with(row -> mega(row.async())),
                        new Column().header("pairs MB/s").with(row -> mega(row.pairs())),
                        new Column().header("perftest MB/s").with(row -> mega(row.perftest())),
                        new Column().header("async ratio").with(row -> decimals(row.asyncRatio(), 2)),
                        new Column().header("pairs ratio").with(row -> decimals(row.pairsRatio(), 2)),
                        new Column().header("garbage B/op async").with(row -> decimals(row.asyncGarbage(), 0)),
                        new Column().header("pairs").with(row -> decimals(row.pairsGarbage(), 2)))));
        out.println("latency in us, one operation after another: READ and FETCH_AND_ADD there and back, WRITE and SEND"
                + " half of there and back, but with futures (which sleep) always until the future is complete");
        out.println(AsciiTable.getTable(
                latencies,
                Arrays.asList(
                        new Column()
                                .header("operation")
                                .with(row -> row.operation().name()),
                        new Column().header("bytes").with(row -> Integer.toString(row.size())),
                        new Column().header("async 50 %").with(row -> decimals(row.async(), 1)),
                        new Column().header("pairs 50 %").with(row -> decimals(row.pairs(), 1)),
                        new Column().header("99 %").with(row -> decimals(row.pairs99(), 1)),
                        new Column().header("perftest 50 %").with(row -> decimals(row.perftest(), 1)),
                        new Column().header("99 %").with(row -> decimals(row.perftest99(), 1)))));
        long below = rows.stream()
                .filter(row -> row.size() >= SMALL_BYTES && row.depth() >= DEEP && row.asyncRatio() < GOAL)
                .count();
        out.printf(
                Locale.ROOT,
                "%d of the operations of 64 KiB and more with %d outstanding are below a ratio of %.2f with futures%n",
                below,
                DEEP,
                GOAL);
        Path file = json;
        if (file != null) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            Files.writeString(
                    file,
                    mapper.writeValueAsString(Map.of("bench", "verbs", "bandwidths", rows, "latencies", latencies))
                            + "\n");
        }
    }

    private static String mega(Spread bytesPerSecond) {
        return bytesPerSecond.dividedBy(1e6).toString();
    }

    private static String decimals(double value, int digits) {
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }
}
