// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.metadata;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import com.github.freva.asciitable.ColumnData;
import com.github.freva.asciitable.HorizontalAlign;
import io.rdmashuffle.bench.metadata.Traffic.Flow;
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
 * Everything that a run of the bench found out: one column for each scale, one line for each figure.
 *
 * @param settings under which it did, by name
 * @param figures by scale, the one that was asked for first
 */
record MetadataReport(Map<String, Object> settings, List<Figures> figures) {
    static final double PUBLISH_GOAL_MICROS = 100;
    static final double LOOKUP_GOAL_MILLIS = 5;

    private static final String NO_GOAL = "";
    private static final double MICRO = 1e3;
    private static final double MILLI = 1e6;

    MetadataReport {
        figures = List.copyOf(figures);
    }

    private record Line(String figure, String goal, Function<Figures, String> value) {}

    /** Returns the table. */
    String render() {
        List<ColumnData<Line>> columns = new ArrayList<>();
        columns.add(
                new Column().header("figure").dataAlign(HorizontalAlign.LEFT).with(Line::figure));
        columns.add(new Column().header("goal").with(Line::goal));
        for (Figures each : figures) {
            columns.add(new Column()
                    .header(header(each.scale()))
                    .headerAlign(HorizontalAlign.RIGHT)
                    .dataAlign(HorizontalAlign.RIGHT)
                    .with(line -> line.value().apply(each)));
        }
        return AsciiTable.getTable(AsciiTable.BASIC_ASCII_NO_DATA_SEPARATORS, lines(), columns)
                + "\nmessages: number, bytes; publish: median / 99 %; lookup: median (least-greatest)";
    }

    private static String header(Scale scale) {
        return scale.maps() + " maps, " + scale.partitions() + " partitions, " + scale.executors() + " executors";
    }

    private static List<Line> lines() {
        String publishGoal = "< " + (int) PUBLISH_GOAL_MICROS;
        String lookupGoal = "< " + (int) LOOKUP_GOAL_MILLIS;
        return List.of(
                line("join: to the driver", of -> flow(of.join().requests())),
                line("join: its replies", of -> flow(of.join().replies())),
                line("join: its pushes", of -> flow(of.join().pushes())),
                line("join: from executor to executor", of -> flow(of.join().passedOn())),
                line("two shuffles: all messages", of -> Long.toString(of.life().messages())),
                line("driver's heap for an executor", of -> ReadableBytes.format(of.driverHeapBytes())),
                new Line("publish us, fresh memory", publishGoal, of -> micros(of.publishFresh())),
                new Line("publish us, used memory", publishGoal, of -> micros(of.publishAgain())),
                new Line(
                        "lookup ms, cold",
                        lookupGoal,
                        of -> of.coldNanos().dividedBy(MILLI).toString()),
                new Line(
                        "lookup ms, warm",
                        lookupGoal,
                        of -> of.warmNanos().dividedBy(MILLI).toString()),
                line(
                        "an executor's directory table",
                        of -> ReadableBytes.format(of.memory().tableBytes())),
                line("its entries", of -> ReadableBytes.format(of.memory().segmentBytes())),
                line("its indexes", of -> ReadableBytes.format(of.memory().indexBytes())),
                line(
                        "a reader's heap for all maps",
                        of -> ReadableBytes.format(of.memory().cachedBytes())));
    }

    private static Line line(String figure, Function<Figures, String> value) {
        return new Line(figure, NO_GOAL, value);
    }

    private static String flow(Flow flow) {
        return flow.messages() + ", " + ReadableBytes.format(flow.bytes());
    }

    private static String micros(Latency latency) {
        return String.format(Locale.ROOT, "%.1f / %.1f", latency.medianNanos() / MICRO, latency.p99Nanos() / MICRO);
    }

    void writeJson(Path file) throws IOException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", "metadata");
        json.put("settings", settings);
        json.put("goals", Map.of("publishMicros", PUBLISH_GOAL_MICROS, "lookupMillis", LOOKUP_GOAL_MILLIS));
        json.put("cases", figures.stream().map(MetadataReport::json).toList());
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, Object> json(Figures of) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", of.scale().toString());
        json.put("maps", of.scale().maps());
        json.put("partitions", of.scale().partitions());
        json.put("executors", of.scale().executors());
        json.put("join", of.join());
        json.put("life", of.life());
        json.put("driverHeapBytesPerExecutor", of.driverHeapBytes());
        json.put("publishFreshMicros", latency(of.publishFresh()));
        json.put("publishAgainMicros", latency(of.publishAgain()));
        json.put("lookupColdMillis", of.coldNanos().dividedBy(MILLI));
        json.put("lookupWarmMillis", of.warmNanos().dividedBy(MILLI));
        json.put("memory", of.memory());
        return json;
    }

    private static Map<String, Object> latency(Latency latency) {
        return Map.of("median", latency.medianNanos() / MICRO, "p99", latency.p99Nanos() / MICRO);
    }
}
