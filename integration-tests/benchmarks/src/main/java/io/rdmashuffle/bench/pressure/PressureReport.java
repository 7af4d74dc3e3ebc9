// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.TextTable;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a run of the bench found out.
 *
 * @param settings under which it did, by name
 */
record PressureReport(Map<String, Object> settings, List<PressurePoint> points) {
    /** The table's file in the folder of a report. */
    static final String TABLE = "pressure.md";
    /** The plot's file. */
    static final String PLOT = "pressure.svg";

    private static final List<ShuffleCounter> PATHS = List.of(
            ShuffleCounter.LOCAL_BYTES,
            ShuffleCounter.SHM_BYTES,
            ShuffleCounter.VERBS_BYTES,
            ShuffleCounter.TCP_BYTES,
            ShuffleCounter.NETTY_BYTES,
            ShuffleCounter.FILE_BYTES);

    /** A column of the table. */
    private record Column(String header, boolean number, Function<PressurePoint, String> value) {}

    PressureReport {
        points = List.copyOf(points);
    }

    boolean acceptable() {
        return points.stream().allMatch(PressurePoint::ok);
    }

    private List<PressurePoint> measured() {
        return points.stream().filter(point -> !point.runs().isEmpty()).toList();
    }

    private static List<Column> columns() {
        List<Column> columns = new ArrayList<>();
        columns.add(new Column("case", false, point -> point.benchCase().name()));
        columns.add(new Column("transfer", false, point -> point.transfer().label()));
        columns.add(new Column("pool/data", true, point -> point.size().label()));
        columns.add(new Column("pool", true, point -> ReadableBytes.format(point.poolBytes())));
        for (Configuration configuration : PressureRun.CONFIGURATIONS) {
            columns.add(new Column(
                    configuration.label() + " s",
                    true,
                    point -> point.seconds(configuration).toString()));
        }
        columns.add(new Column("disk/ours", true, point -> Ratio.format(point.ratio(Configuration.SORT_DISK))));
        columns.add(new Column("tmpfs/ours", true, point -> Ratio.format(point.ratio(Configuration.SORT_TMPFS))));
        columns.add(new Column("waits", true, point -> String.format(Locale.ROOT, "%.2f %%", 100 * point.waitShare())));
        columns.add(new Column(
                "in memory / on disk",
                true,
                point -> bytes(
                        point.after(ShuffleCounter.POOL_USED_BYTES), point.after(ShuffleCounter.DISK_USED_BYTES))));
        columns.add(new Column(
                "local / shm / verbs / tcp / netty / file",
                true,
                point -> bytes(PATHS.stream().mapToLong(point::gained).toArray())));
        return columns;
    }

    private static String bytes(long... figures) {
        List<String> texts = new ArrayList<>();
        for (long figure : figures) {
            texts.add(figure == 0 ? "0" : ReadableBytes.format(figure));
        }
        return String.join(" / ", texts);
    }

    /** Returns the table for a terminal, and what went wrong. */
    String render() {
        TextTable<PressurePoint> table = new TextTable<>();
        for (Column column : columns()) {
            if (column.number()) {
                table.number(column.header(), column.value());
            } else {
                table.text(column.header(), column.value());
            }
        }
        StringBuilder text = new StringBuilder();
        if (!measured().isEmpty()) {
            text.append(table.render(measured())).append('\n');
        }
        failures().forEach(line -> text.append(line).append('\n'));
        text.append("s: median (least-greatest); ratios above 1: ours is faster; waits: for room in the pool, of the"
                + " time that tasks ran");
        return text.toString();
    }

    private List<String> failures() {
        List<String> lines = new ArrayList<>();
        for (PressurePoint point : points) {
            String name = point.benchCase().name() + " " + point.transfer().label() + " "
                    + point.size().label();
            if (!point.error().isEmpty()) {
                lines.add(name + " FAILED: " + point.error());
            }
            point.disagreements().forEach(line -> lines.add(name + " DISAGREES: " + line));
        }
        return lines;
    }

    /** Writes the table as Markdown and the plot as SVG to a folder, which is made if it is missing. */
    void writeTo(Path folder) throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve(TABLE), markdown());
        Files.writeString(folder.resolve(PLOT), PressurePlot.render(measured()));
    }

    private String markdown() {
        List<Column> columns = columns();
        StringBuilder text = new StringBuilder();
        text.append(row(columns.stream().map(Column::header).toList()));
        text.append(
                row(columns.stream().map(each -> each.number() ? "--:" : "---").toList()));
        for (PressurePoint point : measured()) {
            text.append(
                    row(columns.stream().map(each -> each.value().apply(point)).toList()));
        }
        failures().forEach(line -> text.append('\n').append(line).append('\n'));
        return text.toString();
    }

    private static String row(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }

    void writeJson(Path file) throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", "pressure");
        json.put("settings", settings);
        json.put("points", points.stream().map(PressureReport::json).toList());
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, @Nullable Object> json(PressurePoint point) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("case", point.benchCase().name());
        json.put("transfer", point.transfer().label());
        json.put("poolShare", point.size().label());
        json.put("poolBytes", point.poolBytes());
        json.put("ok", point.ok());
        json.put("error", point.error());
        json.put("disagreements", point.disagreements());
        if (point.runs().isEmpty()) {
            return json;
        }
        json.put("ratio", Ratio.orNull(point.ratio(Configuration.SORT_DISK)));
        json.put("ratioTmpfs", Ratio.orNull(point.ratio(Configuration.SORT_TMPFS)));
        json.put("waitShare", point.waitShare());
        json.put("memoryBytes", point.after(ShuffleCounter.POOL_USED_BYTES));
        json.put("diskBytes", point.after(ShuffleCounter.DISK_USED_BYTES));
        Map<String, Object> read = new LinkedHashMap<>();
        PATHS.forEach(path -> read.put(path.label(), point.gained(path)));
        json.put("readBytes", read);
        Map<String, Object> runs = new LinkedHashMap<>();
        for (Configuration configuration : PressureRun.CONFIGURATIONS) {
            runs.put(configuration.label(), point.runs().getOrDefault(configuration, List.of()));
        }
        json.put("runs", runs);
        return json;
    }
}
