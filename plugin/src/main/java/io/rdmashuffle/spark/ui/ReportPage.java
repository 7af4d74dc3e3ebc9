// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.ui;

import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.registry.PathGroup;
import io.rdmashuffle.spark.metrics.ApplicationInfo;
import io.rdmashuffle.spark.metrics.CounterValues;
import io.rdmashuffle.spark.metrics.ExecutorReport;
import io.rdmashuffle.spark.metrics.ReportStore;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounter.Kind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Content of the tab: advice, totals, executors, and settings that differ from their defaults.
 *
 * <p><b>Threading:</b> thread-safe; a page is made for each request.
 *
 * @param store the reports
 */
public record ReportPage(ReportStore store) implements Supplier<String> {
    private static final String TABLE = "<table class=\"table table-bordered table-sm table-striped sortable\" id=\"";

    private static final Map<ShuffleCounter, String> COLUMNS = columns();

    private static Map<ShuffleCounter, String> columns() {
        Map<ShuffleCounter, String> columns = new LinkedHashMap<>();
        columns.put(ShuffleCounter.LOCAL_BYTES, "Read locally");
        columns.put(ShuffleCounter.SHM_BYTES, "Shared memory");
        columns.put(ShuffleCounter.VERBS_BYTES, "RDMA");
        columns.put(ShuffleCounter.TCP_BYTES, "TCP");
        columns.put(ShuffleCounter.NETTY_BYTES, "Netty");
        columns.put(ShuffleCounter.FILE_BYTES, "Files");
        columns.put(ShuffleCounter.POOL_USED_BYTES, "Pool used");
        columns.put(ShuffleCounter.POOL_PEAK_BYTES, "Pool peak");
        columns.put(ShuffleCounter.POOL_CAP_BYTES, "Pool cap");
        columns.put(ShuffleCounter.POOL_FULL, "Pool full");
        columns.put(ShuffleCounter.MAP_OUTPUTS_POOLED, "Outputs in pool");
        columns.put(ShuffleCounter.MAP_OUTPUTS_ON_DISK, "of these on disk");
        columns.put(ShuffleCounter.MAP_OUTPUTS_FILED, "Outputs in files");
        columns.put(ShuffleCounter.POOLS_INHERITED, "Ended pools served");
        columns.put(ShuffleCounter.QUARANTINES, "Quarantines");
        columns.put(ShuffleCounter.CHECKSUM_FAILURES, "Wrong checksums");
        return columns;
    }

    @Override
    public String get() {
        ApplicationInfo info =
                store.application().orElseGet(() -> new ApplicationInfo("unknown", "", Map.of(), Map.of()));
        List<ExecutorReport> executors = store.reports();
        CounterValues totals = CounterValues.ZERO;
        Latencies latencies = Latencies.NONE;
        for (ExecutorReport executor : executors) {
            boolean runs = executor.state() == ExecutorReport.State.RUNNING;
            totals = totals.plus(executor.counters(), counter -> runs || counter.kind() != Kind.GAUGE);
            latencies = latencies.plus(executor.readLatencies());
        }
        Html html = new Html();
        html.raw("<div id=\"rdma-shuffle\">");
        advice(html, Advice.of(info, executors, totals));
        totals(html, totals, latencies);
        executors(html, executors);
        settings(html, info);
        return html.raw("</div>").toString();
    }

    private static void advice(Html html, List<String> findings) {
        html.raw("<h4>Advice</h4><ul id=\"rdma-shuffle-advice\">");
        if (findings.isEmpty()) {
            html.element("li", "Nothing to change: no map output left the pool, and no path failed.");
        }
        findings.forEach(finding -> html.element("li", finding));
        html.raw("</ul>");
    }

    private static void totals(Html html, CounterValues totals, Latencies latencies) {
        html.raw("<h4>All executors</h4>").raw(TABLE).raw("rdma-shuffle-totals\"><thead><tr>");
        COLUMNS.values().forEach(title -> html.element("th", title));
        html.raw("<th>READ latency (median, 99 %)</th></tr></thead><tbody><tr>");
        COLUMNS.keySet().forEach(counter -> number(html, counter, totals.get(counter)));
        String read = latencies.total() == 0
                ? "no READs"
                : latencies.quantileMicros(0.5) + " us, " + latencies.quantileMicros(0.99) + " us";
        html.element("td", read).raw("</tr></tbody></table>");
    }

    private static void number(Html html, ShuffleCounter counter, long value) {
        html.number(counter.label(), value, counter.format(value));
    }

    private static void executors(Html html, List<ExecutorReport> executors) {
        html.raw("<h4>Executors</h4>").raw(TABLE).raw("rdma-shuffle-executors\"><thead><tr>");
        for (String title : List.of("Executor", "Host", "State", "Paths to others")) {
            html.element("th", title);
        }
        COLUMNS.values().forEach(title -> html.element("th", title));
        html.raw("<th>Not read from for now</th><th>Why RDMA is not used</th></tr></thead><tbody>");
        for (ExecutorReport executor : executors) {
            html.raw("<tr data-executor=\"").text(executor.executorId()).raw("\">");
            html.element("td", executor.executorId());
            html.element("td", executor.host());
            html.element("td", executor.state().word());
            html.element("td", paths(executor));
            COLUMNS.keySet().forEach(counter -> number(html, counter, executor.get(counter)));
            html.element("td", String.join(", ", executor.quarantined()));
            html.element("td", executor.whyNotRdma()).raw("</tr>");
        }
        html.raw("</tbody></table>");
    }

    private static String paths(ExecutorReport executor) {
        return executor.paths().stream().map(ReportPage::path).collect(Collectors.joining("; "));
    }

    private static String path(PathGroup group) {
        String more = group.executors() > group.some().size() ? ", ..." : "";
        return group.path() + ": " + group.executors() + " (" + String.join(", ", group.some()) + more + ")";
    }

    private static void settings(Html html, ApplicationInfo info) {
        html.raw("<h4>Settings that differ from their defaults</h4>")
                .raw(TABLE)
                .raw("rdma-shuffle-settings\"><thead><tr><th>Key</th><th>Value</th></tr></thead><tbody>");
        info.settings()
                .forEach((key, value) ->
                        html.raw("<tr>").element("td", key).element("td", value).raw("</tr>"));
        html.raw("</tbody></table><p>Version of the RDMA shuffle: ")
                .text(info.version())
                .raw("</p>");
    }

    /**
     * Markup that grows; every text is escaped on its way in.
     *
     * <p><b>Threading:</b> one thread.
     */
    private static final class Html {
        private final StringBuilder markup = new StringBuilder(4096);

        /** Adds markup, which must not contain anything that came from outside. */
        Html raw(String trusted) {
            markup.append(trusted);
            return this;
        }

        /** Adds a text. */
        Html text(String text) {
            escape(text);
            return this;
        }

        /** Adds an element with a text in it. */
        Html element(String name, String text) {
            return raw("<").raw(name).raw(">").text(text).raw("</").raw(name).raw(">");
        }

        /** Adds the cell of a table with a number in it, by which the column is sorted. */
        Html number(String counter, long value, String text) {
            raw("<td data-counter=\"").text(counter).raw("\" data-value=\"").raw(Long.toString(value));
            return raw("\" sorttable_customkey=\"")
                    .raw(Long.toString(value))
                    .raw("\">")
                    .text(text)
                    .raw("</td>");
        }

        private void escape(String text) {
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                switch (c) {
                    case '<' -> markup.append("&lt;");
                    case '>' -> markup.append("&gt;");
                    case '&' -> markup.append("&amp;");
                    case '"' -> markup.append("&quot;");
                    case '\'' -> markup.append("&#39;");
                    default -> markup.append(c < ' ' && c != '\n' && c != '\t' ? ' ' : c);
                }
            }
        }

        @Override
        public String toString() {
            return markup.toString();
        }
    }
}
