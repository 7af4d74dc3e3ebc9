// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.bench.metadata.ClusterSimulation.Cost;
import io.rdmashuffle.bench.metadata.ClusterSimulation.Result;
import io.rdmashuffle.harness.cli.ReadableBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * Results of simulated clusters, one line for each.
 *
 * @param results in order of size
 */
record ClusterReport(List<Result> results) {
    private static final double MICRO = 1e3;
    private static final double MILLI = 1e6;

    ClusterReport {
        results = List.copyOf(results);
    }

    /** Returns the table. */
    String render() {
        List<ColumnData<Result>> columns = List.of(
                column("executors", of -> Integer.toString(of.cluster().executors())),
                column("cores", of -> Integer.toString(of.cluster().cores())),
                column("blocks a task", of -> Integer.toString(of.cluster().mapOutputs())),
                column("reads", of -> pair("%.0f", of, Cost::reads)),
                column("slices", of -> pair("%.0f", of, Cost::slices)),
                column("KB read", of -> pair("%.1f", of, cost -> cost.readBytes() / MICRO)),
                column("CPU, ms", of -> pair("%.2f", of, cost -> cost.cpuNanos() / MILLI)),
                column(
                        "CPU a block, us",
                        of -> pair(
                                "%.2f",
                                of,
                                cost -> cost.cpuNanos() / MICRO / of.cluster().mapOutputs())),
                column("heap", of -> ReadableBytes.format(of.heapBytes())),
                column(
                        "heap a block, bytes",
                        of -> Long.toString(of.heapBytes() / of.cluster().mapOutputs())));
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, results, columns)
                + "\nfirst task of an executor / mean of eight later ones; no message to the driver in any of them";
    }

    private static ColumnData<Result> column(String header, Function<Result, String> value) {
        return new Column()
                .header(header)
                .headerAlign(HorizontalAlign.RIGHT)
                .dataAlign(HorizontalAlign.RIGHT)
                .with(value);
    }

    private static String pair(String format, Result of, Function<Cost, Double> figure) {
        return String.format(Locale.ROOT, format + " / " + format, figure.apply(of.first()), figure.apply(of.later()));
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", "metadata");
        json.put("processors", Runtime.getRuntime().availableProcessors());
        json.put("clusters", results);
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }
}
