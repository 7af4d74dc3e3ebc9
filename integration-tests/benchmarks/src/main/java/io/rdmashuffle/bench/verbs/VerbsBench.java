// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
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
 * run; futures and prepared operations ({@code verbs.async}), and queue pairs ({@code verbs}).
 */
@Command(
        name = "bench verbs",
        description = {
            "The native-verbs library beside perftest, in one run: bandwidth, latency and garbage of READ, WRITE, SEND"
                    + " and fetch-and-add, with futures and with prepared operations, which a thread that sleeps"
                    + " completes, and with queue pairs (pairs), which a thread polls. Ratios of medians.",
            ""
        },
        showDefaultValues = true)
public final class VerbsBench extends Tool {
    private static final int ATOMIC_BYTES = 8;
    private static final int LATENCY_BYTES = 64;
    private static final int MIN_OPERATIONS = 50;
    private static final int WARM_UPS = 2_000;

    @Option(names = "--device", defaultValue = "rxe0", description = "RDMA device")
    private String device = "";

    @Option(names = "--sizes", split = ",", defaultValue = "4096,65536,1048576", description = "bytes of one operation")
    private List<Integer> sizes = List.of();

    @Option(names = "--depths", split = ",", defaultValue = "1,16", description = "operations outstanding")
    private List<Integer> depths = List.of();

    @Option(names = "--rounds", defaultValue = "3", description = "rounds, alternating")
    private int rounds;

    @Option(
            names = "--bytes",
            defaultValue = "16777216",
            description = "bytes to move in each measurement, at least " + MIN_OPERATIONS + " operations")
    private long bytes;

    @Option(names = "--latency-operations", defaultValue = "500", description = "operations timed one by one")
    private int latencyOperations;

    @Option(names = "--json", description = "write all figures to a JSON file")
    private @Nullable Path json;

    VerbsBench() {}

    /** Called by {@code bin/bench verbs}. */
    public static void main(String[] args) {
        run(new VerbsBench(), args);
    }

    /** The ways to use the library that are measured. */
    private record Loads(Load futures, Load prepared, Load pairs) {
        private void warmUp(Operation operation) throws Exception {
            for (Load load : List.of(futures, prepared, pairs)) {
                load.run(operation, ATOMIC_BYTES, VerbsReport.DEEP, WARM_UPS);
            }
        }
    }

    /** Results of one level in all rounds. */
    private static final class Rounds {
        private final List<Double> bandwidths = new ArrayList<>();
        private double garbage = Double.MAX_VALUE;

        void measure(Load load, Operation operation, int size, int depth, int count) throws Exception {
            Load.Measured measured = load.run(operation, size, depth, count);
            bandwidths.add((double) size * count / (measured.nanos() / 1e9));
            garbage = Math.min(garbage, measured.garbageBytes() / (double) count);
        }

        VerbsReport.Way way() {
            return new VerbsReport.Way(Spread.of(bandwidths), garbage);
        }
    }

    @Override
    public Integer call() throws Exception {
        check(this::checkOptions);
        TestedDevice tested = TestedDevice.find(device);
        Perftest perftest = new Perftest(tested);
        List<VerbsReport.Row> rows = new ArrayList<>();
        List<VerbsReport.LatencyRow> latencies = new ArrayList<>();
        int deepest = Math.max(VerbsReport.DEEP, Collections.max(depths));
        long regionBytes = Math.max(1 << 20, (long) deepest * Collections.max(sizes));
        try (FuturesLoad futures = new FuturesLoad(tested.address(), regionBytes, deepest);
                PreparedLoad prepared = new PreparedLoad(tested.address(), regionBytes, deepest);
                QueuePairLoad pairs = new QueuePairLoad(tested.address(), regionBytes, deepest)) {
            Loads loads = new Loads(futures, prepared, pairs);
            for (Operation operation : Operation.values()) {
                String hindrance = hindrance(operation, tested);
                if (hindrance != null) {
                    out.println(operation + " is left out: " + hindrance);
                    continue;
                }
                // Measures compiled code.
                loads.warmUp(operation);
                for (int size : operation == Operation.FETCH_AND_ADD ? List.of(ATOMIC_BYTES) : sizes) {
                    for (int depth : depths) {
                        rows.add(compare(operation, size, depth, loads, perftest));
                    }
                }
                latencies.add(latency(operation, loads, perftest));
            }
        }
        report(new VerbsReport(rows, latencies));
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
                    "--rounds, --bytes, --latency-operations, --sizes and --depths: must be integers above 0");
        }
        if (sizes.stream().anyMatch(size -> size < ATOMIC_BYTES)
                || depths.stream().anyMatch(depth -> depth < 1)) {
            throw new IllegalArgumentException("--sizes: must be 8 and more; --depths: must be 1 and more");
        }
    }

    private VerbsReport.Row compare(Operation operation, int size, int depth, Loads loads, Perftest perftest)
            throws Exception {
        int count = (int) Math.max(MIN_OPERATIONS, Math.min(bytes / size, 20_000));
        Rounds futures = new Rounds();
        Rounds prepared = new Rounds();
        Rounds pairs = new Rounds();
        List<Double> theirs = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            futures.measure(loads.futures(), operation, size, depth, count);
            prepared.measure(loads.prepared(), operation, size, depth, count);
            pairs.measure(loads.pairs(), operation, size, depth, count);
            theirs.add(perftest.bandwidth(operation, size, depth, count));
        }
        VerbsReport.Row row = new VerbsReport.Row(
                operation, size, depth, futures.way(), prepared.way(), pairs.way(), Spread.of(theirs));
        System.err.printf(
                Locale.ROOT,
                "%s of %d bytes, depth %d: futures %.2f, prepared %.2f, pairs %.2f of %s%n",
                operation,
                size,
                depth,
                row.ratio(row.futures()),
                row.ratio(row.prepared()),
                row.ratio(row.pairs()),
                operation.bandwidthProgram());
        return row;
    }

    private VerbsReport.LatencyRow latency(Operation operation, Loads loads, Perftest perftest) throws Exception {
        int size = operation == Operation.FETCH_AND_ADD ? ATOMIC_BYTES : LATENCY_BYTES;
        long[] futures = latencies(loads.futures(), operation, size);
        long[] prepared = latencies(loads.prepared(), operation, size);
        long[] bare = latencies(loads.pairs(), operation, size);
        List<Double> theirs = perftest.latency(operation, size, latencyOperations);
        return new VerbsReport.LatencyRow(
                operation,
                size,
                percentile(futures, 0.5),
                percentile(prepared, 0.5),
                percentile(bare, 0.5),
                percentile(bare, 0.99),
                theirs.get(0),
                theirs.get(2));
    }

    private long[] latencies(Load load, Operation operation, int size) throws Exception {
        load.latencies(operation, size, latencyOperations / 5);
        return load.latencies(operation, size, latencyOperations);
    }

    private static double percentile(long[] nanos, double fraction) {
        long[] sorted = nanos.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.min(sorted.length - 1L, (long) (fraction * sorted.length))] / 1e3;
    }

    private void report(VerbsReport report) throws Exception {
        out.println(report.bandwidthTable());
        out.println("latency in us, one operation after another: READ and FETCH_AND_ADD there and back, WRITE and SEND"
                + " half of there and back, but with futures and prepared operations, whose threads sleep, always until"
                + " the operation is complete");
        out.println(report.latencyTable());
        out.println(report.goals());
        Path file = json;
        if (file != null) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            Files.writeString(
                    file,
                    mapper.writeValueAsString(Map.of(
                                    "bench",
                                    "verbs",
                                    "bandwidths",
                                    report.bandwidths(),
                                    "latencies",
                                    report.latencies()))
                            + "\n");
        }
    }
}
