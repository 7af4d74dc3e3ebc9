// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.RunFolders;
import io.rdmashuffle.demo.Application;
import io.rdmashuffle.demo.ResultJudge;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import io.rdmashuffle.harness.tpcds.QueryCatalogue;
import io.rdmashuffle.harness.tpcds.TpcdsData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench tpcds}: every query several times on sort shuffle in several configurations and on ours. */
@Command(
        name = "bench tpcds",
        description = {
            "Runs TPC-DS queries on Spark's sort shuffle in some configurations and on ours; who begins a round is"
                    + " another one each time. All rows of ours are compared with sort shuffle's. Shows each query's"
                    + " ratio, their geometric mean, the queries below 0.97, the ten best and the ten worst. The ratio"
                    + " of a query is the time of the sort shuffle that had the least median in this run over ours,"
                    + " round by round, and of all of its rounds the median: above 1, ours is faster.",
            "",
            "Reduce tasks are tasks of stages that read a shuffle. Adaptive execution makes as many of them as the"
                    + " sizes that are reported ask for; ours reports sizes as if compressed, so they are held against"
                    + " the first configuration that compresses.",
            "",
            "As in bin/demo there are 16 shuffle partitions and tables are broadcast up to 256 KB; --conf changes that."
                    + " CPU is user and system time of the executors' processes, memory their usage after a query,"
                    + " each page once; files of a tmpfs are not in it.",
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
        check(options::check);
        QueryCatalogue catalogue = QueryCatalogue.load();
        ShuffleTable table = ShuffleTable.load();
        List<String> queries = checked(() -> options.queries(catalogue, table));
        Workspace workspace = Workspace.find();
        TpcdsData data = new TpcdsData(options.dataFolder(workspace), options.scale());
        data.ensure(workspace, out::println);
        try (RunFolders folders = new RunFolders(workspace, "tpcds", options.disk(), options.tmpfs())) {
            out.println(queries.size() + " queries at scale " + options.scale() + "; " + folders.fileSystems());
            out.println("logs: " + folders.logs());
            Applications applications = new Applications(workspace, data.folder(), folders);
            Path shuffleTable = options.shuffleTable();
            if (shuffleTable != null) {
                measure(applications, queries, shuffleTable);
                out.println("written: " + shuffleTable);
                return CommandLine.ExitCode.OK;
            }
            TpcdsReport report = compare(applications, catalogue, queries);
            out.println(TpcdsTables.render(report));
            options.sayWhereKept(out);
            return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
        }
    }

    /** Parts of the applications of a run. */
    private record Applications(Workspace workspace, Path data, RunFolders folders) {}

    private Application application(Applications of, Configuration configuration) throws IOException {
        return new Application(
                configuration.label(),
                new Application.Setting(of.workspace(), of.data(), of.folders().logs(), options.timeout()),
                options.conf(configuration, of.folders().local(configuration.label(), configuration.inMemory())));
    }

    private void measure(Applications of, List<String> queries, Path file) throws IOException, InterruptedException {
        try (Application sort = application(of, Configuration.SORT_DISK);
                StepProgress progress = new StepProgress(out, "queries", queries.size())) {
            new ShuffleTableRun(sort, options.counts(), progress)
                    .run(queries, soFar -> soFar.write(file, options.settings()));
        }
    }

    private TpcdsReport compare(Applications of, QueryCatalogue catalogue, List<String> queries)
            throws IOException, InterruptedException {
        Map<Configuration, Application> applications = new EnumMap<>(Configuration.class);
        for (Configuration configuration : options.configurations()) {
            applications.put(configuration, application(of, configuration));
        }
        try (ConfigurationRunner configurations =
                        new ConfigurationRunner(applications, options.reference(), new ResultJudge(catalogue));
                StepProgress progress = new StepProgress(
                        out, "queries", queries.size() * options.counts().starts())) {
            return report(new TpcdsRun(
                            configurations, options.counts(), progress, soFar -> options.keep(report(soFar)::writeJson))
                    .run(queries));
        }
    }

    private TpcdsReport report(List<QueryResult> results) {
        return new TpcdsReport(options.settings(), options.configurations(), results);
    }
}
