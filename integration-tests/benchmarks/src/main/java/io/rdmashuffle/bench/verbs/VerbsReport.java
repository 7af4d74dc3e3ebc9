// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.bench.perftest.Perftest.Operation;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Results of {@code bin/bench verbs}, as tables.
 *
 * @param bandwidths a row for each operation, size and depth
 * @param latencies a row for each operation
 */
record VerbsReport(List<Row> bandwidths, List<LatencyRow> latencies) {
    /** Operations outstanding, from which on the goal counts. */
    static final int DEEP = 16;

    private static final int SMALL_BYTES = 64 << 10;
    private static final double GOAL = 0.85;
    private static final int MICROS_DIGITS = 1;

    /**
     * One way to use the library.
     *
     * @param bandwidth bytes per second
     * @param garbage bytes an operation, the least of all rounds
     */
    record Way(Spread bandwidth, double garbage) {}

    /** One operation, in each way of the library and with perftest's program (bytes per second). */
    record Row(Operation operation, int size, int depth, Way futures, Way prepared, Way pairs, Spread perftest) {
        double ratio(Way way) {
            return way.bandwidth().median() / perftest.median();
        }

        /** Returns whether the goal counts here. */
        private boolean counts() {
            return operation != Operation.FETCH_AND_ADD && size >= SMALL_BYTES && depth >= DEEP;
        }
    }

    /** Microseconds of one operation after another: medians and 99 %. */
    record LatencyRow(
            Operation operation,
            int size,
            double futures,
            double prepared,
            double pairs,
            double pairs99,
            double perftest,
            double perftest99) {}

    String bandwidthTable() {
        return AsciiTable.getTable(
                bandwidths,
                Arrays.asList(
                        new Column()
                                .header("operation")
                                .with(row -> row.operation().name()),
                        new Column().header("bytes").with(row -> Integer.toString(row.size())),
                        new Column().header("depth").with(row -> Integer.toString(row.depth())),
                        new Column()
                                .header("futures MB/s")
                                .with(row -> mega(row.futures().bandwidth())),
                        new Column()
                                .header("prepared MB/s")
                                .with(row -> mega(row.prepared().bandwidth())),
                        new Column()
                                .header("pairs MB/s")
                                .with(row -> mega(row.pairs().bandwidth())),
                        new Column().header("perftest MB/s").with(row -> mega(row.perftest())),
                        new Column().header("ratio futures").with(row -> decimals(row.ratio(row.futures()), 2)),
                        new Column().header("prepared").with(row -> decimals(row.ratio(row.prepared()), 2)),
                        new Column().header("pairs").with(row -> decimals(row.ratio(row.pairs()), 2)),
                        new Column()
                                .header("garbage B/op futures")
                                .with(row -> decimals(row.futures().garbage(), 0)),
                        new Column()
                                .header("prepared")
                                .with(row -> decimals(row.prepared().garbage(), 2)),
                        new Column()
                                .header("pairs")
                                .with(row -> decimals(row.pairs().garbage(), 2))));
    }

    String latencyTable() {
        return AsciiTable.getTable(
                latencies,
                Arrays.asList(
                        new Column()
                                .header("operation")
                                .with(row -> row.operation().name()),
                        new Column().header("bytes").with(row -> Integer.toString(row.size())),
                        new Column().header("futures 50 %").with(row -> micros(row.futures())),
                        new Column().header("prepared 50 %").with(row -> micros(row.prepared())),
                        new Column().header("pairs 50 %").with(row -> micros(row.pairs())),
                        new Column().header("99 %").with(row -> micros(row.pairs99())),
                        new Column().header("perftest 50 %").with(row -> micros(row.perftest())),
                        new Column().header("99 %").with(row -> micros(row.perftest99()))));
    }

    /** Returns how many rows meet the goals of the asynchronous API, with futures and with prepared operations. */
    String goals() {
        List<Row> counting = bandwidths.stream().filter(Row::counts).toList();
        return String.format(
                Locale.ROOT,
                "of %d runs of READ, WRITE and SEND of 64 KiB and more with at least %d outstanding, a ratio of %.2f is"
                        + " reached by %d with prepared operations, by %d with futures; %d with prepared operations"
                        + " make no garbage",
                counting.size(),
                DEEP,
                GOAL,
                counting.stream()
                        .filter(row -> row.ratio(row.prepared()) >= GOAL)
                        .count(),
                counting.stream()
                        .filter(row -> row.ratio(row.futures()) >= GOAL)
                        .count(),
                counting.stream().filter(row -> row.prepared().garbage() == 0).count());
    }

    private static String mega(Spread bytesPerSecond) {
        return bytesPerSecond.dividedBy(1e6).toString();
    }

    private static String micros(double value) {
        return decimals(value, MICROS_DIGITS);
    }

    private static String decimals(double value, int digits) {
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }
}
