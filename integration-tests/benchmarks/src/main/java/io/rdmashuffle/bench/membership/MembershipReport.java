// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.membership;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.harness.cli.ReadableBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;

/**
 * Results of a membership simulation: one column per scenario, one line per figure.
 *
 * @param executors requested number
 * @param seed random seed
 */
public record MembershipReport(int executors, long seed, List<MembershipFigures> figures) {
    /** Copies. */
    public MembershipReport {
        figures = List.copyOf(figures);
    }

    private record Line(String figure, Function<MembershipFigures, String> value) {}

    /** Returns the table. */
    public String render() {
        List<ColumnData<Line>> columns = new ArrayList<>();
        columns.add(new Column()
                .header(executors + " executors")
                .dataAlign(HorizontalAlign.LEFT)
                .with(Line::figure));
        for (MembershipFigures each : figures) {
            columns.add(new Column()
                    .header(each.scenario())
                    .headerAlign(HorizontalAlign.RIGHT)
                    .dataAlign(HorizontalAlign.RIGHT)
                    .with(line -> line.value().apply(each)));
        }
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, lines(), columns)
                + "\nn: joins and removals; a network with "
                + Endpoint.LATENCY_NANOS / 1_000_000 + " ms of latency, 10 Gb/s, and "
                + Endpoint.PROCESSING_NANOS / 1_000 + " us for a message at each end; a sweep every "
                + MembershipCluster.SWEEP_INTERVAL.toSeconds() + " s";
    }

    private static List<Line> lines() {
        return List.of(
                new Line(
                        "driver: messages sent", of -> Long.toString(of.driver().sentMessages())),
                new Line(
                        "driver: messages received",
                        of -> Long.toString(of.driver().receivedMessages())),
                new Line("  goal, each: n log2 n", of -> Long.toString(of.goal())),
                new Line(
                        "driver: bytes sent",
                        of -> ReadableBytes.format(of.driver().sentBytes())),
                new Line(
                        "driver: bytes received",
                        of -> ReadableBytes.format(of.driver().receivedBytes())),
                new Line("  goal, each: n log2 n members", of -> ReadableBytes.format(of.goal() * of.memberBytes())),
                new Line("s until all know all", of -> String.format(Locale.ROOT, "%.2f", of.seconds())),
                new Line("  goal", of -> String.format(Locale.ROOT, "< %.0f", of.goalSeconds())),
                new Line("most messages of an executor", of -> Long.toString(of.mostMessages())),
                new Line("most bytes of an executor", of -> ReadableBytes.format(of.mostBytes())),
                new Line(
                        "snapshots from peers",
                        of -> Long.toString(of.snapshots().fromPeers())),
                new Line(
                        "  peers that were behind",
                        of -> Long.toString(of.snapshots().peersBehind())),
                new Line(
                        "  asked of the driver later",
                        of -> Long.toString(of.snapshots().fromDriver())));
    }

    /** Writes all figures. */
    public void writeJson(Path file) throws IOException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", "metadata");
        json.put("mode", "membership");
        json.put(
                "settings",
                Map.of(
                        "executors",
                        executors,
                        "seed",
                        seed,
                        "latencyMicros",
                        Endpoint.LATENCY_NANOS / 1_000,
                        "processingMicros",
                        Endpoint.PROCESSING_NANOS / 1_000,
                        "sweepSeconds",
                        MembershipCluster.SWEEP_INTERVAL.toSeconds()));
        json.put("cases", figures.stream().map(MembershipReport::json).toList());
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, Object> json(MembershipFigures of) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", of.scenario());
        json.put("executors", of.executors());
        json.put("changes", of.changes());
        json.put("memberBytes", of.memberBytes());
        json.put("goalMessages", of.goal());
        json.put("goalBytes", of.goal() * of.memberBytes());
        json.put("driver", of.driver());
        json.put("mostMessagesOfAnExecutor", of.mostMessages());
        json.put("mostBytesOfAnExecutor", of.mostBytes());
        json.put("snapshots", of.snapshots());
        json.put("seconds", of.seconds());
        json.put("goalSeconds", of.goalSeconds());
        return json;
    }
}
