// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.doctor.report.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Executors by executors: which path, how fast, and why not a better one.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param version of this jar
 * @param wanted executors that were waited for
 * @param executors in the order of rows and columns
 */
record Matrix(String version, int wanted, List<ExecutorReport> executors) {
    private static final int FORMAT = 1;
    /** More columns than these are no help on a screen: only pairs without their best path are listed. */
    private static final int MOST_COLUMNS = 12;

    private static final double GIGABYTE = 1e9;

    Matrix {
        executors = List.copyOf(executors);
    }

    private Stream<PairReport> pairs() {
        return executors.stream().flatMap(executor -> executor.pairs().stream());
    }

    /** Returns 0 if all executors came and every pair has its best path, else 1. */
    int exitCode() {
        return executors.size() >= wanted && pairs().allMatch(PairReport::best) ? 0 : 1;
    }

    /** Writes matrix, reasons and what the doctors of hosts have found. */
    String text() {
        List<String> lines = new ArrayList<>();
        lines.add("rdma-shuffle-spark " + version + ": doctor of " + executors.size() + " executors");
        if (executors.size() < wanted) {
            lines.add("(!) " + wanted
                    + " were waited for (--executors, --wait): see the logs of the missing ones, and the"
                    + " cluster's manager, say why");
        }
        executors.forEach(executor -> lines.add("executor " + executor.executorId() + " on " + executor.host()));
        if (executors.size() <= MOST_COLUMNS) {
            addTable(lines);
        }
        Map<String, Long> byPath =
                pairs().collect(Collectors.groupingBy(PairReport::path, TreeMap::new, Collectors.counting()));
        lines.add("pairs by path: " + byPath);
        addReasons(lines);
        addFindings(lines);
        long worse = pairs().filter(pair -> !pair.best()).count();
        lines.add((worse == 0
                        ? "Every executor reaches every other one by the best path."
                        : worse + " of " + pairs().count() + " pairs do not have the best path.")
                + " Exit code " + exitCode() + ".");
        return String.join("\n", lines);
    }

    private void addTable(List<String> lines) {
        lines.add("row reads from column: path, GB/s of one read after another, median us of a small one");
        StringBuilder header = new StringBuilder(String.format("%-10s", ""));
        executors.forEach(executor -> header.append(String.format("%-28s", executor.executorId())));
        lines.add(header.toString().stripTrailing());
        for (ExecutorReport reader : executors) {
            Map<String, PairReport> cells =
                    reader.pairs().stream().collect(Collectors.toMap(PairReport::owner, pair -> pair));
            StringBuilder row = new StringBuilder(String.format("%-10s", reader.executorId()));
            for (ExecutorReport owner : executors) {
                PairReport pair = cells.get(owner.executorId());
                row.append(String.format("%-28s", pair == null ? "-" : cell(pair)));
            }
            lines.add(row.toString().stripTrailing());
        }
    }

    private static String cell(PairReport pair) {
        String path = pair.path() + (pair.best() ? "" : " (!)");
        return pair.bytesPerSecond() == 0
                ? path
                : String.format(Locale.ROOT, "%s %.2f %.1f", path, pair.bytesPerSecond() / GIGABYTE, pair.micros());
    }

    /** One line for each reason, however many pairs have it. */
    private void addReasons(List<String> lines) {
        pairs().filter(pair -> !pair.best())
                .collect(Collectors.groupingBy(
                        pair -> pair.path() + ": " + pair.reason(), TreeMap::new, Collectors.toList()))
                .forEach((reason, pairs) -> lines.add("(!) " + pairs.size() + " pair(s), such as "
                        + pairs.get(0).reader() + " from " + pairs.get(0).owner() + ", take " + reason));
    }

    private void addFindings(List<String> lines) {
        Map<String, List<String>> hostsByFinding = new LinkedHashMap<>();
        for (ExecutorReport executor : executors) {
            for (String finding : executor.findings()) {
                hostsByFinding
                        .computeIfAbsent(finding, text -> new ArrayList<>())
                        .add(executor.executorId());
            }
        }
        hostsByFinding.forEach((finding, ids) ->
                lines.add("executor " + String.join(", ", ids) + ": " + finding.replace("\n", "\n    ")));
    }

    /** Writes one JSON document with the names that docs/operations.md lists. */
    String json() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("format", FORMAT);
        document.put("version", version);
        document.put("exitCode", exitCode());
        document.put("executorsWanted", wanted);
        document.put("executors", executors.stream().map(Matrix::fields).toList());
        document.put("pairs", pairs().map(Matrix::fields).toList());
        return Json.write(document);
    }

    private static Map<String, Object> fields(ExecutorReport executor) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("executor", executor.executorId());
        fields.put("host", executor.host());
        fields.put("verdict", executor.verdict());
        fields.put("findings", executor.findings());
        return fields;
    }

    private static Map<String, Object> fields(PairReport pair) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("reader", pair.reader());
        fields.put("owner", pair.owner());
        fields.put("path", pair.path());
        fields.put("best", pair.best());
        fields.put("medianMicros", pair.micros());
        fields.put("bytesPerSecond", Math.round(pair.bytesPerSecond()));
        fields.put("reason", pair.reason());
        return fields;
    }
}
