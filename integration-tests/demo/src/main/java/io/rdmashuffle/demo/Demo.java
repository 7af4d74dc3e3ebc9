// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.SparkHome;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.ReadableBytes;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsData;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/demo}: TPC-DS on sort shuffle and on ours, side by side. */
@Command(
        name = "demo",
        description = {
            "Runs TPC-DS queries on Spark with sort shuffle and with the RDMA shuffle, compares all rows, and shows"
                    + " times and bytes by path.",
            ""
        },
        exitCodeList = {
            "0:every query that sort shuffle can run gave equal results",
            "1:a result differed, a query failed only with ours, or Spark did not start",
            "2:an option was wrong"
        })
public final class Demo extends Tool {
    @Mixin
    DemoOptions options = new DemoOptions();

    /** Called by {@code bin/demo}. */
    public static void main(String[] args) {
        run(new Demo(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        QueryCatalogue catalogue = QueryCatalogue.load();
        List<String> queries = queries(catalogue);
        Workspace workspace = Workspace.find();
        TpcdsData data = new TpcdsData(options.dataFolder(workspace), options.scale());
        data.ensure(workspace, out::println);
        Path logs = runFolder(workspace);
        Application.Setting setting = new Application.Setting(workspace, data.folder(), logs, options.timeout());
        Map<String, String> ourConf = options.ourConf();
        String userInterface = options.keep() ? enableUserInterface(ourConf) : "";
        Application sort = new Application("sort", setting, options.sortConf());
        Application ours = new Application("ours", setting, ourConf);
        try (Comparison comparison = new Comparison(sort, ours, catalogue)) {
            DemoReport report = compare(comparison, queries);
            out.println(ReportTable.render(report));
            summarise(report, logs, workspace);
            Path json = options.json();
            if (json != null) {
                report.writeJson(json);
                out.println("written: " + json);
            }
            if (options.fabric() != ShuffleMode.SORT) {
                out.println(new HostVerdict(
                                workspace.pluginJar(), ourConf, options.executors(), logs.resolve("doctor.json"))
                        .line());
            }
            if (options.keep()) {
                out.println("our application runs until Enter is pressed: " + userInterface);
                int unused = System.in.read();
            }
            return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
        }
    }

    /** Returns where it will be. */
    private String enableUserInterface(Map<String, String> conf) throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        conf.put("spark.ui.enabled", "true");
        conf.put("spark.ui.port", Integer.toString(port));
        String tab = options.fabric() == ShuffleMode.SORT ? "/" : "/rdmashuffle/";
        return "http://localhost:" + port + tab;
    }

    private List<String> queries(QueryCatalogue catalogue) {
        check(options::check);
        return checked(() -> catalogue.resolve(options.queries()));
    }

    /** Makes a folder of this run's own, so that two demos at once do not read each other's results. */
    private static Path runFolder(Workspace workspace) throws IOException {
        String now = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss", Locale.ROOT)
                .format(LocalDateTime.now(ZoneId.systemDefault()));
        return Files.createDirectories(workspace
                .target("demo")
                .resolve("runs")
                .resolve(now + "-" + ProcessHandle.current().pid()));
    }

    private DemoReport compare(Comparison comparison, List<String> queries) throws IOException, InterruptedException {
        out.printf(
                "local-cluster with %d executors, twice: sort shuffle and %s; %d queries, all rows compared%n",
                options.executors(), options.fabric(), queries.size());
        List<QueryComparison> compared = new ArrayList<>();
        try (StepProgress progress = new StepProgress(out, "queries", queries.size())) {
            progress.starting("starting Spark");
            comparison.warmUp(queries.get(0));
            for (String query : queries) {
                progress.starting(query);
                QueryComparison result = comparison.compare(query);
                compared.add(result);
                progress.finished(result.toString());
            }
            progress.starting("dropping shuffles");
        }
        Map<String, Long> held = options.fabric() == ShuffleMode.SORT
                ? Map.of()
                : comparison.drain().counters();
        return new DemoReport(options.fabric().toString(), compared, held);
    }

    private void summarise(DemoReport report, Path logs, Workspace workspace) {
        StringBuilder bytes = new StringBuilder();
        report.bytes()
                .forEach((path, value) -> bytes.append(path)
                        .append(' ')
                        .append(ReadableBytes.format(value))
                        .append("  "));
        long sortMillis = report.queries().stream()
                .mapToLong(query -> query.sort().millis())
                .sum();
        long ourMillis = report.queries().stream()
                .mapToLong(query -> query.ours().millis())
                .sum();
        out.printf(
                "together: sort %.1f s, %s %.1f s; single times are noisy on a small or shared machine%n",
                sortMillis / 1000.0, report.fabric(), ourMillis / 1000.0);
        out.println("bytes by path: " + bytes.toString().strip());
        if (!report.held().isEmpty()) {
            out.printf(
                    "held after the shuffles were dropped: pool %s, leases %d, mappings of peers %d%n",
                    ReadableBytes.format(held(report, ShuffleCounter.POOL_USED_BYTES)),
                    held(report, ShuffleCounter.POOL_LEASES),
                    held(report, ShuffleCounter.PEER_MAPPINGS));
        }
        name(report, QueryVerdict.EQUAL_BUT_TIES, "equal but for ties at the final LIMIT (equal without it)");
        name(report, QueryVerdict.NOT_RUN, "sort shuffle cannot run");
        name(report, QueryVerdict.OURS_FAILED, "failed only with ours");
        name(report, QueryVerdict.DIFFERENT, "DIFFERENT");
        for (QueryComparison query : report.queries()) {
            QueryReply failed = query.sort().ok() ? query.ours() : query.sort();
            if (!failed.ok()) {
                out.println("  " + query.name() + ": " + failed.error());
            }
        }
        if (report.queries().stream().anyMatch(query -> !query.verdict().equal())) {
            out.println("logs: " + logs + " and " + SparkHome.of(workspace).executorLogs());
        }
    }

    private void name(DemoReport report, QueryVerdict verdict, String what) {
        List<String> names = report.names(verdict);
        if (!names.isEmpty()) {
            out.println(what + ": " + String.join(", ", names));
        }
    }

    private static long held(DemoReport report, ShuffleCounter counter) {
        return report.held().getOrDefault(counter.label(), 0L);
    }
}
