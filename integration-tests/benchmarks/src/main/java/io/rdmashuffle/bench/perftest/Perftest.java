// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.perftest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Runs perftest's programs, server and client on this host, and reads their table.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Source:</b> ib_read_bw(1), ib_read_lat(1); columns as of perftest 4.5.
 */
public final class Perftest {
    private static final long LIMIT_SECONDS = 180;
    private static final long SERVER_START_MILLIS = 1_500;
    private static final int AVERAGE_BANDWIDTH = 3;
    private static final int MAX_READS = 16;

    private final TestedDevice device;

    /** Names the device to use. */
    public Perftest(TestedDevice device) {
        this.device = device;
    }

    /** Measured operation, with its name in perftest. */
    public enum Operation {
        READ("read"),
        WRITE("write"),
        SEND("send"),
        FETCH_AND_ADD("atomic");

        private final String word;

        Operation(String word) {
            this.word = word;
        }

        /** Returns the program that measures bandwidth. */
        public String bandwidthProgram() {
            return "ib_" + word + "_bw";
        }

        /** Returns the program that measures latency: of a round trip, or of half a ping-pong for WRITE and SEND. */
        public String latencyProgram() {
            return "ib_" + word + "_lat";
        }

        private boolean reads() {
            return this == READ || this == FETCH_AND_ADD;
        }
    }

    /**
     * Returns the average bandwidth.
     *
     * @param bytes of one operation; 8 for atomics
     * @param depth operations outstanding
     * @param count operations in all
     * @return bytes per second
     */
    public double bandwidth(Operation operation, int bytes, int depth, int count)
            throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(size(operation, bytes, count));
        options.addAll(List.of("-t", Integer.toString(depth)));
        options.addAll(List.of("-Q", Integer.toString(Math.min(count, Math.max(1, depth / 2)))));
        if (operation.reads()) {
            options.addAll(List.of("-o", Integer.toString(Math.min(depth, MAX_READS))));
        }
        List<String> row = run(operation.bandwidthProgram(), options, Integer.toString(bytes));
        return Double.parseDouble(row.get(AVERAGE_BANDWIDTH)) * (1 << 20);
    }

    /** Returns typical, average, 99 % and 99.9 % latency in microseconds. */
    public List<Double> latency(Operation operation, int bytes, int count) throws IOException, InterruptedException {
        List<String> row = run(operation.latencyProgram(), size(operation, bytes, count), Integer.toString(bytes));
        return List.of(
                Double.valueOf(row.get(4)),
                Double.valueOf(row.get(5)),
                Double.valueOf(row.get(7)),
                Double.valueOf(row.get(8)));
    }

    private static List<String> size(Operation operation, int bytes, int count) {
        return operation == Operation.FETCH_AND_ADD
                ? List.of("-A", "FETCH_AND_ADD", "-n", Integer.toString(count))
                : List.of("-s", Integer.toString(bytes), "-n", Integer.toString(count));
    }

    private List<String> run(String program, List<String> options, String firstColumn)
            throws IOException, InterruptedException {
        List<String> server = new ArrayList<>(List.of(program, "-d", device.name(), "-F"));
        server.addAll(options);
        if (device.iwarp()) {
            server.add("-R");
        }
        List<String> client = new ArrayList<>(server);
        client.add(device.iwarp() ? device.address().getHostAddress() : "127.0.0.1");
        Process listening = start(server);
        try {
            Thread.sleep(SERVER_START_MILLIS);
            Process measuring = start(client);
            try {
                String output = new String(measuring.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!measuring.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || measuring.exitValue() != 0) {
                    throw new IOException(String.join(" ", client) + " failed: " + output);
                }
                return row(output, firstColumn);
            } finally {
                measuring.destroyForcibly();
            }
        } finally {
            listening.destroyForcibly();
            listening.waitFor();
        }
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    private static List<String> row(String output, String firstColumn) throws IOException {
        return output.lines()
                .map(String::strip)
                .filter(line -> line.startsWith(firstColumn + " "))
                .map(line -> List.of(line.split("\\s+", -1)))
                .findFirst()
                .orElseThrow(() -> new IOException("perftest printed no table: " + output));
    }
}
