// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.shuffle;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.GarbageLog;
import io.rdmashuffle.bench.RunFolders;
import io.rdmashuffle.bench.jobs.BenchApplication;
import io.rdmashuffle.bench.jobs.BenchCase;
import io.rdmashuffle.bench.jobs.BenchJob.Form;
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
 * lives for the whole run; or, for the first job of fresh executors, for one job.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> owns applications and folders while it runs.
 */
final class Comparison {
    private final String bench;
    private final ShuffleOptions options;
    private final PrintStream out;
    private final Map<Configuration, Integer> started = new EnumMap<>(Configuration.class);

    /**
     * Prepares to run.
     *
     * @param bench its name, in folders and the report
     * @param out receives progress and results
     */
    Comparison(String bench, ShuffleOptions options, PrintStream out) {
        this.bench = bench;
        this.options = options;
        this.out = out;
    }

    /** Runs all cases, prints their environment, and returns the results. */
    ShuffleReport run() throws IOException, InterruptedException {
        Workspace workspace = Workspace.find();
        try (RunFolders folders = new RunFolders(workspace, bench, options.disk(), options.tmpfs())) {
            out.println("local-cluster with " + ShuffleOptions.EXECUTORS + " executors, "
                    + Configuration.values().length + " times; "
                    + (options.cold() ? "started anew for each job; " : "")
                    + folders.fileSystems() + "; adaptive execution off");
            out.println("logs: " + folders.logs());
            return report(cases(workspace, folders));
        }
    }

    private ShuffleReport report(List<CaseResult> results) {
        return new ShuffleReport(bench, options.settings(), results);
    }

    private List<CaseResult> cases(Workspace workspace, RunFolders folders) throws IOException, InterruptedException {
        int steps = options.selected().stream()
                .mapToInt(each -> options.warmups(each) + options.rounds())
                .sum();
        try (StepProgress progress = new StepProgress(out, "rounds", steps)) {
            return options.cold() ? coldCases(workspace, folders, progress) : cases(workspace, folders, progress);
        }
    }

    private List<CaseResult> coldCases(Workspace workspace, RunFolders folders, StepProgress progress)
            throws IOException, InterruptedException {
        List<CaseResult> results = new ArrayList<>();
        Map<Configuration, CaseRun.Jobs> configurations = new EnumMap<>(Configuration.class);
        for (Configuration configuration : Configuration.values()) {
            configurations.put(configuration, job -> {
                String name = configuration.label() + "-" + started.merge(configuration, 1, Integer::sum);
                try (BenchApplication application = start(workspace, folders, configuration, name)) {
                    return application.run(job);
                }
            });
        }
        for (BenchCase benchCase : options.selected()) {
            // Of its own for each case: what an earlier one had in the pool is gone with its application.
            CaseRun runs = new CaseRun(configurations, options.rounds(), List.of(Form.FULL), progress);
            results.add(runs.run(benchCase, options.rows(), 0));
            options.keep(report(results)::writeJson);
        }
        return results;
    }

    private List<CaseResult> cases(Workspace workspace, RunFolders folders, StepProgress progress)
            throws IOException, InterruptedException {
        List<CaseResult> results = new ArrayList<>();
        Map<Configuration, BenchApplication> applications = new EnumMap<>(Configuration.class);
        Map<Configuration, CaseRun.Jobs> configurations = new EnumMap<>(Configuration.class);
        try {
            for (Configuration configuration : Configuration.values()) {
                progress.starting("starting " + configuration.label());
                BenchApplication application = start(workspace, folders, configuration, configuration.label());
                applications.put(configuration, application);
                configurations.put(configuration, application::run);
            }
            CaseRun runs = new CaseRun(configurations, options.rounds(), List.of(Form.values()), progress);
            for (BenchCase benchCase : options.selected()) {
                results.add(
                        applications.values().stream().allMatch(BenchApplication::isAlive)
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

    private BenchApplication start(Workspace workspace, RunFolders folders, Configuration configuration, String name)
            throws IOException, InterruptedException {
        GarbageLog garbage = folders.garbage(name);
        Path warehouse = folders.logs().resolve("warehouse");
        return new BenchApplication(
                workspace,
                new BenchApplication.Setting(
                        name,
                        ShuffleOptions.EXECUTORS,
                        options.conf(configuration, folders.local(name, configuration.inMemory()), warehouse, garbage),
                        folders.log(name),
                        garbage.folder(),
                        options.timeout()));
    }
}
