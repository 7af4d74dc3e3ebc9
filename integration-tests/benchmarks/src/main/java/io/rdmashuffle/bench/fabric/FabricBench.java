// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import io.rdmashuffle.bench.perftest.Perftest;
import io.rdmashuffle.bench.perftest.TestedDevice;
import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.verbs.VerbsFabric;
import io.rdmashuffle.fabric.verbs.VerbsSettings;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Visibility;
import picocli.CommandLine.Option;

/**
 * Bandwidth and operations per second of the verbs fabric beside {@code ib_read_bw}, latency beside
 * {@code ib_read_lat}: same sizes, same depths, in turn, in one run. Or the shared-memory fabric beside memcpy,
 * or the fabrics of TCP and of libfabric beside C programs.
 */
@Command(
        name = "bench fabric",
        description = {
            "READs of the verbs fabric beside perftest's, in one run: ratios of medians. With --shm, which needs no"
                    + " RDMA device: reads of the shared-memory fabric beside memcpy. With --tcp: reads of the TCP"
                    + " fabric beside a C program, by CPU time. With --ofi: reads through libfabric beside a C program,"
                    + " by bandwidth.",
            ""
        },
        showDefaultValues = true)
public final class FabricBench extends Tool {
    private static final int SMALL_BYTES = 64 << 10;
    private static final double GOAL = 0.9;
    private static final long POOL_BYTES = 512L << 20;
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final List<Integer> SIZES = List.of(4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20);
    private static final long VERBS_BYTES = 16 << 20;
    private static final long SHM_BYTES = 512 << 20;

    @Option(
            names = "--shm",
            description = "measure reads of the shared-memory fabric and memcpy; of the other options, --sizes,"
                    + " --rounds, --bytes and --json are for it, too")
    private boolean shm;

    @Option(
            names = "--tcp",
            description = "measure reads of the TCP fabric over loopback and a C program; of the other"
                    + " options, --rounds, --bytes and --json are for it, too")
    private boolean tcp;

    @Option(
            names = "--ofi",
            paramLabel = "PROVIDER",
            description = "measure reads through libfabric over a provider, such as tcp;ofi_rxm, and a C program; of"
                    + " the other options, all but --device, --latency-reads, --poll-micros and --profile are for it,"
                    + " too")
    private @Nullable String ofi;

    @Option(
            names = "--address",
            defaultValue = "127.0.0.1",
            description = "with --ofi: IP address of the device to use; empty for the provider's first device")
    private String address = "";

    @Option(names = "--device", defaultValue = "rxe0", description = "RDMA device")
    private String device = "";

    @Option(
            names = "--sizes",
            split = ",",
            showDefaultValue = Visibility.NEVER,
            description = "bytes of one READ; 4 KiB to 4 MiB by default, with --shm to 16 MiB")
    private List<Integer> sizes = List.of();

    @Option(names = "--depths", split = ",", defaultValue = "1,16,64", description = "READs outstanding")
    private List<Integer> depths = List.of();

    @Option(names = "--rounds", defaultValue = "3", description = "rounds of each pair, alternating")
    private int rounds;

    @Option(
            names = "--bytes",
            showDefaultValue = Visibility.NEVER,
            description =
                    "bytes per measurement, at least 50 READs; 16 MiB by default, with --shm 512 MiB, with --tcp 2"
                            + " GiB, with --ofi 4 GiB but for verbs")
    private long bytes;

    @Option(names = "--latency-reads", defaultValue = "500", description = "READs timed one by one")
    private int latencyReads;

    @Option(
            names = "--poll-micros",
            defaultValue = "20",
            description = "time for which our data thread polls before it sleeps; perftest never sleeps")
    private long pollMicros;

    @Option(names = "--profile", description = "also sample where our data thread spends its time")
    private boolean profile;

    @Option(names = "--json", description = "write all figures to a JSON file")
    private @Nullable Path json;

    private final ThreadProfile dataThread = new ThreadProfile("rdma-read-0");

    FabricBench() {}

    /** Called by {@code bin/bench fabric}. */
    public static void main(String[] args) {
        run(new FabricBench(), args);
    }

    /** One pair of measurements: medians. */
    private record Pair(int size, int depth, double ours, double theirs) {
        double ratio() {
            return ours / theirs;
        }

        Map<String, Object> json() {
            return Map.of(
                    "name", "verbs-" + size + "-" + depth,
                    "size", size,
                    "depth", depth,
                    "oursBytesPerSecond", ours,
                    "perftestBytesPerSecond", theirs,
                    "ratio", ratio());
        }
    }

    @Override
    public Integer call() throws Exception {
        check(this::checkOptions);
        if (shm) {
            ShmReads reads =
                    new ShmReads(sizes.isEmpty() ? ShmReads.SIZES : sizes, rounds, bytes == 0 ? SHM_BYTES : bytes);
            List<ShmReads.Pair> pairs = reads.measure(SHARED_MEMORY);
            System.out.println(ShmReads.render(pairs));
            writeJson(pairs.stream().map(ShmReads.Pair::json).toList());
        } else if (tcp) {
            TcpReads reads = new TcpReads(rounds, bytes == 0 ? TcpReads.BYTES : bytes);
            List<TcpReads.Result> results = reads.measure(SHARED_MEMORY);
            System.out.println(TcpReads.render(results));
            writeJson(results.stream().map(TcpReads.Result::json).toList());
        } else if (ofi != null) {
            OfiReads reads = new OfiReads(ofi, address, rounds, bytes);
            List<OfiReads.Pair> pairs = reads.measure(SHARED_MEMORY, sizes.isEmpty() ? OfiReads.SIZES : sizes, depths);
            System.out.println(OfiReads.render(pairs));
            writeJson(pairs.stream().map(OfiReads.Pair::json).toList());
        } else {
            verbs();
        }
        return CommandLine.ExitCode.OK;
    }

    private void checkOptions() {
        if (rounds <= 0 || bytes < 0 || sizes.stream().anyMatch(size -> size <= 0)) {
            throw new IllegalArgumentException("--rounds, --bytes and --sizes: must be integers above 0");
        }
        if (depths.stream().anyMatch(depth -> depth <= 0)) {
            throw new IllegalArgumentException("--depths: must be integers above 0");
        }
    }

    private void verbs() throws Exception {
        Perftest perftest = new Perftest(TestedDevice.find(device));
        List<Pair> pairs = new ArrayList<>();
        try (FabricReader reader = new FabricReader(SHARED_MEMORY, POOL_BYTES, this::fabric)) {
            reader.run(4096, 8, 2_000);
            for (int size : sizes.isEmpty() ? SIZES : sizes) {
                for (int depth : depths) {
                    pairs.add(compare(reader, perftest, size, depth));
                }
            }
            System.out.println(table(pairs));
            System.out.println(latency(reader, perftest));
        }
        long below = pairs.stream()
                .filter(pair -> pair.size() >= SMALL_BYTES && pair.ratio() < GOAL)
                .count();
        if (profile) {
            System.out.println(dataThread);
        }
        System.out.printf(Locale.ROOT, "%d of the pairs at 64 KiB and above are below a ratio of %.1f%n", below, GOAL);
        writeJson(pairs.stream().map(Pair::json).toList());
    }

    private void writeJson(List<Map<String, Object>> cases) throws IOException {
        Path file = json;
        if (file != null) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            Files.writeString(file, mapper.writeValueAsString(Map.of("bench", "fabric", "cases", cases)) + "\n");
        }
    }

    private Pair compare(FabricReader reader, Perftest perftest, int size, int depth) throws Exception {
        int count = (int) Math.max(50, (bytes == 0 ? VERBS_BYTES : bytes) / size);
        double[] ours = new double[rounds];
        double[] theirs = new double[rounds];
        for (int round = 0; round < rounds; round++) {
            ThreadProfile.Measured ourReads = () -> (double) size * count / (reader.run(size, depth, count) / 1e9);
            ours[round] = profile ? dataThread.during(ourReads) : ourReads.run();
            theirs[round] = perftest.bandwidth(Perftest.Operation.READ, size, depth, count);
        }
        Pair pair = new Pair(size, depth, median(ours), median(theirs));
        System.err.printf(Locale.ROOT, "%d bytes, depth %d: ratio %.2f%n", size, depth, pair.ratio());
        return pair;
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static String table(List<Pair> pairs) {
        return AsciiTable.getTable(
                pairs,
                Arrays.asList(
                        new Column().header("READ bytes").with(pair -> Integer.toString(pair.size())),
                        new Column().header("depth").with(pair -> Integer.toString(pair.depth())),
                        new Column().header("ours MB/s").with(pair -> mega(pair.ours())),
                        new Column().header("ib_read_bw MB/s").with(pair -> mega(pair.theirs())),
                        new Column().header("ours READs/s").with(pair -> rate(pair.ours() / pair.size())),
                        new Column().header("ib_read_bw READs/s").with(pair -> rate(pair.theirs() / pair.size())),
                        new Column().header("ratio").with(pair -> String.format(Locale.ROOT, "%.2f", pair.ratio()))));
    }

    private String latency(FabricReader reader, Perftest perftest) throws Exception {
        int size = 4096;
        reader.latencies(size, latencyReads / 5);
        long[] nanos = reader.latencies(size, latencyReads);
        List<Double> theirs = perftest.latency(Perftest.Operation.READ, size, latencyReads);
        return String.format(
                Locale.ROOT,
                "latency of a READ of %d bytes in us: ours 50%% %.0f, 99%% %.0f, 99.9%% %.0f;"
                        + " ib_read_lat 50%% %.0f, 99%% %.0f, 99.9%% %.0f",
                size,
                percentile(nanos, 0.5),
                percentile(nanos, 0.99),
                percentile(nanos, 0.999),
                theirs.get(0),
                theirs.get(2),
                theirs.get(3));
    }

    private static double percentile(long[] sortedNanos, double fraction) {
        return sortedNanos[(int) Math.min(sortedNanos.length - 1L, (long) (fraction * sortedNanos.length))] / 1e3;
    }

    private static String mega(double bytesPerSecond) {
        return String.format(Locale.ROOT, "%.1f", bytesPerSecond / 1e6);
    }

    private static String rate(double perSecond) {
        return String.format(Locale.ROOT, "%.0f", perSecond);
    }

    private Fabric fabric() {
        try {
            return VerbsFabric.open(new VerbsSettings(
                    PortSelector.parse(device),
                    Duration.ZERO,
                    1,
                    Duration.ofNanos(pollMicros * 1_000),
                    16,
                    128,
                    8 << 20,
                    QueuePairTuning.DEFAULT,
                    Duration.ofSeconds(20),
                    Duration.ZERO,
                    POOL_BYTES,
                    POOL_BYTES / 4,
                    Duration.ofSeconds(30),
                    false,
                    true,
                    OptionalInt.empty(),
                    Secret.NONE));
        } catch (RdmaUnavailableException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }
}
