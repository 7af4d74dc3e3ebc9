// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.Comparison;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench tpcds}: every query several times on sort shuffle and on ours. */
@Command(
        name = "bench tpcds",
        description = {
            "Runs TPC-DS queries on Spark with sort shuffle and with ours, in turn, compares all rows, and shows each"
                    + " query's ratio of medians, their geometric mean, and the worst query. Ratios are sort shuffle's"
                    + " time over ours: above 1, ours is faster.",
            "",
            "As in bin/demo there are 16 shuffle partitions and tables are broadcast up to 256 KB; --conf changes that."
                    + " CPU is user and system time of the executors' processes.",
            ""
        },
        exitCodeList = {
            "0:every query that sort shuffle can run gave equal results",
            "1:a result differed, a query failed only with ours, or Spark did not start",
            "2:an option was wrong"
        })
public final class TpcdsBench extends Tool {
    @Mixin
    TpcdsOptions options = new TpcdsOptions();

    /** Called by {@code bin/bench tpcds}. */
    public static void main(String[] args) {
        run(new TpcdsBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        QueryCatalogue catalogue = QueryCatalogue.load();
        List<String> queries = queries(catalogue);
        Workspace workspace = Workspace.find();
        TpcdsData data = new TpcdsData(options.dataFolder(workspace), options.scale());
        data.ensure(workspace, out::println);
        Path folder = Files.createDirectories(workspace.target("benchmarks").resolve("bench"));
        Path logs = Files.createTempDirectory(folder, "tpcds-");
        out.println("logs: " + logs);
        Application.Setting setting = new Application.Setting(workspace, data.folder(), logs, options.timeout());
        Application sort = new Application("sort", setting, options.conf(false));
        Application ours = new Application("ours", setting, options.conf(true));
        TpcdsReport report;
        try (Comparison comparison = new Comparison(sort, ours, catalogue);
                StepProgress progress = new StepProgress(out, "queries", queries.size())) {
            report = report(new TpcdsRun(comparison, options, progress, soFar -> options.keep(report(soFar)::writeJson))
                    .run(queries));
        }
        out.println(report.render());
        options.sayWhereKept(out);
        return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private TpcdsReport report(List<QueryResult> results) {
        return new TpcdsReport(options.settings(), results);
    }

    private List<String> queries(QueryCatalogue catalogue) {
        check(options::check);
        return checked(() -> catalogue.resolve(options.queries()));
    }
}
