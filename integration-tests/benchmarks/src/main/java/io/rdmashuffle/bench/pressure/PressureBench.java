// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.pressure;

import io.rdmashuffle.bench.RunFolders;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench pressure}: our shuffle with less and less memory, beside sort shuffle. */
@Command(
        name = "bench pressure",
        description = {
            "Runs jobs that are mostly shuffle with pools from twice the data that an executor writes down to nothing,"
                    + " beside Spark's sort shuffle with files on disk and in a tmpfs, in turn. Ratios are sort"
                    + " shuffle's median over ours: above 1, ours is faster.",
            "",
            "Waits are the share of task time spent waiting for room in the pool. Bytes in memory"
                    + " and on disk are read after a job; the bytes by path are the job's reads. How much an"
                    + " executor writes is measured first, with the pool that --pool says.",
            ""
        },
        exitCodeList = {
            "0:all ran, and moved the same records on all three",
            "1:a job failed or moved different records, or Spark did not start",
            "2:an option was wrong"
        })
public final class PressureBench extends Tool {
    @Mixin
    PressureOptions options = new PressureOptions();

    /** Called by {@code bin/bench pressure}. */
    public static void main(String[] args) {
        run(new PressureBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        Workspace workspace = Workspace.find();
        PressureReport report;
        try (RunFolders folders = new RunFolders(workspace, "pressure", options.disk(), options.tmpfs())) {
            out.println("local-cluster with " + PressureOptions.EXECUTORS + " executors, three times; "
                    + folders.fileSystems());
            out.println("logs: " + folders.logs());
            report = measure(workspace, folders);
        }
        out.println(report.render());
        options.sayWhereKept(out);
        Path folder = options.report();
        if (folder != null) {
            report.writeTo(folder);
            out.println(
                    "written: " + folder.resolve(PressureReport.TABLE) + ", " + folder.resolve(PressureReport.PLOT));
        }
        return report.acceptable() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private PressureReport measure(Workspace workspace, RunFolders folders) throws IOException, InterruptedException {
        List<PressurePoint> points = new ArrayList<>();
        try (StepProgress progress = new StepProgress(out, "steps", PressureRun.steps(options))) {
            for (Transfer transfer : options.transfers()) {
                try (PressureRun run = new PressureRun(workspace, options, folders, transfer, progress)) {
                    run.run(point -> {
                        points.add(point);
                        options.keep(new PressureReport(options.settings(), points)::writeJson);
                    });
                }
            }
        }
        return new PressureReport(options.settings(), points);
    }
}
