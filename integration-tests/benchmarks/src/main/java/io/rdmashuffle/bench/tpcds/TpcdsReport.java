// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.TextTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a run of the bench found out.
 *
 * @param settings under which it did, by name
 */
record TpcdsReport(Map<String, Object> settings, List<QueryResult> queries) {
    /** Below this, ours counts as slower than sort shuffle. */
    static final double SLOW = 0.95;

    TpcdsReport {
        queries = List.copyOf(queries);
    }

    boolean acceptable() {
        return queries.stream().allMatch(query -> query.verdict().acceptable());
    }

    OptionalDouble geometricMean() {
        return Ratio.geometricMean(queries.stream()
                .flatMapToDouble(query -> query.totalRatio().stream())
                .boxed()
                .toList());
    }

    /** Returns the query with the least ratio. */
    Optional<QueryResult> worst() {
        return queries.stream()
                .filter(query -> query.totalRatio().isPresent())
                .min(Comparator.comparingDouble(query -> query.totalRatio().getAsDouble()));
    }

    /** Returns the table, and below it mean, worst query, and what went wrong. */
    String render() {
        StringBuilder text = new StringBuilder(table().render(queries));
        text.append("\nseconds: median (least-greatest); ratios above 1: ours needs less\n");
        text.append("geometric mean of sort/ours: ").append(Ratio.format(geometricMean()));
        worst().ifPresent(query ->
                text.append(", worst: ").append(query.name()).append(' ').append(Ratio.format(query.totalRatio())));
        List<String> slow = queries.stream()
                .filter(query -> query.isBelow(SLOW))
                .map(QueryResult::name)
                .toList();
        text.append(String.format(
                Locale.ROOT, "%nbelow %.2f: %s", SLOW, slow.isEmpty() ? "none" : String.join(", ", slow)));
        for (QueryResult query : queries) {
            if (!query.verdict().equal()) {
                text.append(String.format(
                        "%n%s: %s %s%s",
                        query.name(),
                        query.verdict(),
                        query.rounds().get(query.rounds().size() - 1).sort().error(),
                        query.rounds().get(query.rounds().size() - 1).ours().error()));
            }
        }
        return text.toString();
    }

    private static TextTable<QueryResult> table() {
        return new TextTable<QueryResult>()
                .text("query", QueryResult::name)
                .number("equal", query -> query.verdict().label())
                .number("rounds", query -> Integer.toString(query.rounds().size()))
                .number("sort s", query -> query.sortSeconds().toString())
                .number("ours s", query -> query.ourSeconds().toString())
                .number("sort/ours", query -> Ratio.format(query.totalRatio()))
                .number("CPU: sort/ours", query -> Ratio.format(query.cpuRatio()))
                .number("shuffle read", query -> ReadableBytes.format(query.shuffleReadBytes()));
    }

    void writeJson(Path file) throws IOException {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("bench", "tpcds");
        json.put("settings", settings);
        json.put("geometricMean", orNull(geometricMean()));
        json.put("worst", worst().map(QueryResult::name).orElse(""));
        json.put("cases", queries.stream().map(TpcdsReport::json).toList());
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, @Nullable Object> json(QueryResult query) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("name", query.name());
        json.put("verdict", query.verdict().name());
        json.put("equal", query.verdict().equal());
        json.put("totalRatio", orNull(query.totalRatio()));
        // A query is many stages; what it would take without its shuffles cannot be run.
        json.put("overheadRatio", null);
        json.put("cpuRatio", orNull(query.cpuRatio()));
        json.put("rounds", query.rounds().size());
        json.put("sortSeconds", query.sortSeconds());
        json.put("oursSeconds", query.ourSeconds());
        json.put("sortCpuSeconds", query.sortCpuSeconds());
        json.put("oursCpuSeconds", query.ourCpuSeconds());
        json.put("shuffleReadBytes", query.shuffleReadBytes());
        json.put(
                "sortMs",
                query.rounds().stream().map(round -> round.sort().millis()).toList());
        json.put(
                "oursMs",
                query.rounds().stream().map(round -> round.ours().millis()).toList());
        return json;
    }

    private static @Nullable Object orNull(OptionalDouble ratio) {
        return ratio.isPresent() ? (Object) ratio.getAsDouble() : null;
    }
}
