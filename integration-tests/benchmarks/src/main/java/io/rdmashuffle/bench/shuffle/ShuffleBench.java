// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.jobs.BenchApplication;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.Contender;
import io.rdmashuffle.bench.jobs.GarbageLog;
import io.rdmashuffle.bench.jobs.RunFolders;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench shuffle}: jobs that are mostly shuffle, on sort shuffle twice and on ours. */
@Command(
        name = "bench shuffle",
        description = {
            "Runs jobs that are mostly shuffle on Spark's sort shuffle with files on disk, on the same with files in a"
                    + " tmpfs, and on ours, in turn. Ratios are sort shuffle's median over ours: above 1, ours is"
                    + " faster.",
            "",
            "Overhead is a job's time less the larger of two floors of the same run: the job without its shuffle, and"
                    + " its plan with 2,000 rows, which is scheduling. CPU is user and system time of the executors'"
                    + " processes; CPU s/GB divides it by what sort shuffle on disk writes. Adaptive execution and"
                    + " broadcast joins are off, the serializer of RDDs is Kryo, compression is at its defaults.",
            ""
        },
        exitCodeList = {
            "0:all cases ran, and moved the same records on all three",
            "1:a case failed or moved different records, or Spark did not start",
            "2:an option was wrong"
        })
public final class ShuffleBench extends Tool {
    @Mixin
    ShuffleOptions options = new ShuffleOptions();

    /** Called by {@code bin/bench shuffle}. */
    public static void main(String[] args) {
        run(new ShuffleBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        Workspace workspace = Workspace.find();
        ShuffleReport report;
        try (RunFolders folders = new RunFolders(workspace, "shuffle", options.disk(), options.tmpfs())) {
            out.println("local-cluster with " + ShuffleOptions.EXECUTORS + " executors, three times; "
                    + folders.fileSystems() + "; adaptive execution off");
            out.println("logs: " + folders.logs());
            report = report(cases(workspace, folders));
        }
        out.println(ShuffleTables.render(report));
        out.println("s: median (least-greatest); a / b / c: sort-disk / sort-tmpfs / ours;"
                + " ratios above 1: ours needs less");
        options.sayWhereKept(out);
        return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private ShuffleReport report(List<CaseResult> results) {
        return new ShuffleReport(options.settings(), results);
    }

    private List<CaseResult> cases(Workspace workspace, RunFolders folders) throws IOException, InterruptedException {
        List<BenchCase> selected = options.selected();
        List<CaseResult> results = new ArrayList<>();
        Map<Contender, BenchApplication> applications = new EnumMap<>(Contender.class);
        int steps = selected.stream()
                .mapToInt(each -> options.warmups(each) + options.rounds())
                .sum();
        try (StepProgress progress = new StepProgress(out, "rounds", steps)) {
            for (Contender contender : Contender.values()) {
                progress.starting("starting " + contender.label());
                applications.put(contender, start(workspace, folders, contender));
            }
            CaseRun runs = new CaseRun(applications, options.rounds(), progress);
            for (BenchCase benchCase : selected) {
                results.add(
                        runs.canGoOn()
                                ? runs.run(benchCase, options.rows(), options.warmups(benchCase))
                                : CaseResult.failed(
                                        benchCase, benchCase.rows(options.rows()), "not run: an application is gone"));
                options.keep(report(results)::writeJson);
            }
        } finally {
            applications.values().forEach(BenchApplication::close);
        }
        return results;
    }

    private BenchApplication start(Workspace workspace, RunFolders folders, Contender contender)
            throws IOException, InterruptedException {
        GarbageLog garbage = folders.garbage(contender.label());
        Path warehouse = folders.logs().resolve("warehouse");
        return new BenchApplication(
                workspace,
                new BenchApplication.Setting(
                        contender.label(),
                        ShuffleOptions.EXECUTORS,
                        options.conf(
                                contender,
                                folders.local(contender.label(), contender == Contender.SORT_TMPFS),
                                warehouse,
                                garbage),
                        folders.log(contender.label()),
                        garbage.folder(),
                        options.timeout()));
    }
}
