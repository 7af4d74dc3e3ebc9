// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

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
final class Perftest {
    private static final long LIMIT_SECONDS = 180;
    private static final long SERVER_START_MILLIS = 1_500;
    private static final int AVERAGE_BANDWIDTH = 3;

    private final String device;

    /** Names the device to use. */
    Perftest(String device) {
        this.device = device;
    }

    /** Returns the average bandwidth in bytes per second. */
    double readBandwidth(int bytes, int depth, int count) throws IOException, InterruptedException {
        List<String> row = run(
                "ib_read_bw",
                List.of(
                        "-s",
                        Integer.toString(bytes),
                        "-n",
                        Integer.toString(count),
                        "-t",
                        Integer.toString(depth),
                        "-o",
                        Integer.toString(Math.min(depth, 16)),
                        "-Q",
                        Integer.toString(Math.min(count, Math.max(1, depth / 2)))),
                Integer.toString(bytes));
        return Double.parseDouble(row.get(AVERAGE_BANDWIDTH)) * (1 << 20);
    }

    /** Returns typical, average, 99 % and 99.9 % latency in microseconds. */
    List<Double> readLatency(int bytes, int count) throws IOException, InterruptedException {
        List<String> row = run(
                "ib_read_lat",
                List.of("-s", Integer.toString(bytes), "-n", Integer.toString(count)),
                Integer.toString(bytes));
        return List.of(
                Double.valueOf(row.get(4)),
                Double.valueOf(row.get(5)),
                Double.valueOf(row.get(7)),
                Double.valueOf(row.get(8)));
    }

    private List<String> run(String program, List<String> options, String firstColumn)
            throws IOException, InterruptedException {
        List<String> server = new ArrayList<>(List.of(program, "-d", device, "-F"));
        server.addAll(options);
        List<String> client = new ArrayList<>(server);
        client.add("127.0.0.1");
        Process listening = start(server);
        try {
            Thread.sleep(SERVER_START_MILLIS);
            Process reading = start(client);
            try {
                String output = new String(reading.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (!reading.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) || reading.exitValue() != 0) {
                    throw new IOException(String.join(" ", client) + " failed: " + output);
                }
                return row(output, firstColumn);
            } finally {
                reading.destroyForcibly();
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
