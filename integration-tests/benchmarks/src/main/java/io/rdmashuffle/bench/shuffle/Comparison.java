// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Contender;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.RunFolders;
import io.rdmashuffle.bench.jobs.BenchApplication;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Runs the cases of a bench on sort shuffle in several configurations and on ours, each of which is an application that
 * lives for the whole run.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns applications and folders while it runs.
 */
final class Comparison {
    private final String bench;
    private final ShuffleOptions options;
    private final PrintStream out;

    /**
     * Prepares to run.
     *
     * @param bench its name, in folders and the report
     * @param out is shown progress and what was found
     */
    Comparison(String bench, ShuffleOptions options, PrintStream out) {
        this.bench = bench;
        this.options = options;
        this.out = out;
    }

    /** Runs all cases, shows where they run, and returns what was found. */
    ShuffleReport run() throws IOException, InterruptedException {
        Workspace workspace = Workspace.find();
        try (RunFolders folders = new RunFolders(workspace, bench, options.disk(), options.tmpfs())) {
            out.println("local-cluster with " + ShuffleOptions.EXECUTORS + " executors, "
                    + Contender.values().length + " times; "
                    + folders.fileSystems() + "; adaptive execution off");
            out.println("logs: " + folders.logs());
            return report(cases(workspace, folders));
        }
    }

    private ShuffleReport report(List<CaseResult> results) {
        return new ShuffleReport(bench, options.settings(), results);
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
                                contender, folders.local(contender.label(), contender.inMemory()), warehouse, garbage),
                        folders.log(contender.label()),
                        garbage.folder(),
                        options.timeout()));
    }
}
