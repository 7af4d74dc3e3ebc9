package io.rdmashuffle.it.bench.tpcds;

import io.rdmashuffle.it.Workspace;
import io.rdmashuffle.it.cli.Progress;
import io.rdmashuffle.it.cli.Tool;
import io.rdmashuffle.it.demo.Contest;
import io.rdmashuffle.it.demo.Contestant;
import io.rdmashuffle.it.tpcds.QueryCatalogue;
import io.rdmashuffle.it.tpcds.TpcdsData;
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
            "Runs TPC-DS queries on Spark with sort shuffle and with ours, in turn, compares all rows, and shows each query's"
                    + " ratio of medians, their geometric mean, and the worst query. Ratios are sort shuffle's time over"
                    + " ours: above 1, ours is faster.",
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
        Path folder = Files.createDirectories(workspace.target().resolve("bench"));
        Path logs = Files.createTempDirectory(folder, "tpcds-");
        out.println("logs: " + logs);
        Contestant.Setting setting = new Contestant.Setting(workspace, data.folder(), logs, options.timeout());
        Contestant sort = new Contestant("sort", setting, options.conf(false));
        Contestant ours = new Contestant("ours", setting, options.conf(true));
        TpcdsReport report;
        try (Contest contest = new Contest(sort, ours, catalogue);
                Progress progress = new Progress(out, "queries", queries.size())) {
            report = report(new TpcdsRun(contest, options, progress, soFar -> options.keep(report(soFar)::writeJson))
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
