// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import io.rdmashuffle.bench.memory.HeapSearch.Found;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.StepProgress;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/bench memory}: the smallest heap with which jobs complete, with sort shuffle and with ours. */
@Command(
        name = "bench memory",
        description = {
            "Searches the smallest executor heap with which a job completes, on Spark's sort shuffle and on ours, by"
                    + " bisection. Each attempt is an application with one executor of one core on a local cluster; a"
                    + " task that fails ends it. Tasks hold memory for an operator and for the shuffle's writer at"
                    + " once, and for less than they have.",
            "",
            "Heaps this small need spark.testing.reservedMemory, which Spark's own tests use: of the heap without the"
                    + " reserved part, tasks get 60 percent. Our pool is outside of the heap and is not counted."
                    + " A goal that is missed does not change the exit code.",
            ""
        },
        exitCodeList = {
            "0:every search found a heap",
            "1:the largest heap was not enough, or Spark did not start",
            "2:an option was wrong"
        })
public final class MemoryBench extends Tool {
    @Mixin
    MemoryOptions options = new MemoryOptions();

    /** Called by {@code bin/bench memory}. */
    public static void main(String[] args) {
        run(new MemoryBench(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        MemoryReport report;
        Workspace workspace = Workspace.find();
        try (ProbeFolders folders = ProbeFolders.create(workspace)) {
            out.println("logs: " + folders.logs());
            report = search(workspace, folders);
        }
        out.println(report.render());
        Path json = options.json();
        if (json != null) {
            out.println("written: " + json);
        }
        return report.isComplete() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }

    private MemoryReport search(Workspace workspace, ProbeFolders folders) throws IOException, InterruptedException {
        List<JobResult> results = new ArrayList<>();
        List<MemoryJob> jobs = options.jobs();
        try (ProbeApplication sort =
                        new ProbeApplication(workspace, folders.logs().resolve("sort.log"));
                ProbeApplication ours =
                        new ProbeApplication(workspace, folders.logs().resolve("ours.log"));
                StepProgress progress = new StepProgress(out, "searches", 2 * jobs.size())) {
            for (MemoryJob job : jobs) {
                results.add(result(job, sort, ours, folders, progress));
                keep(results);
            }
        }
        return new MemoryReport(options.settings(), results);
    }

    private void keep(List<JobResult> results) throws IOException {
        Path json = options.json();
        if (json != null) {
            new MemoryReport(options.settings(), results).writeJson(json);
        }
    }

    private JobResult result(
            MemoryJob job, ProbeApplication sort, ProbeApplication ours, ProbeFolders folders, StepProgress progress)
            throws InterruptedException {
        try {
            Found theirs = search(job, sort, false, OptionalInt.empty(), folders, progress);
            return new JobResult(job, theirs, search(job, ours, true, theirs.smallestMb(), folders, progress), "");
        } catch (IOException e) {
            progress.finished(job.label() + " failed: " + e.getMessage());
            return JobResult.failed(job, String.valueOf(e.getMessage()));
        }
    }

    private Found search(
            MemoryJob job,
            ProbeApplication application,
            boolean isOurs,
            OptionalInt guess,
            ProbeFolders folders,
            StepProgress progress)
            throws IOException, InterruptedException {
        String name = job.label() + (isOurs ? ", ours" : ", sort");
        Found found = options.search().search(guess, heapMb -> {
            progress.starting(name + ", " + heapMb + " MB");
            ProbeReply reply = application.run(options.request(job, isOurs, heapMb, folders));
            folders.clear();
            progress.noted(String.format(
                    Locale.ROOT,
                    "%s: %d MB %s (%.1f s)",
                    name,
                    heapMb,
                    reply.completed() ? "is enough" : "is not: " + MemoryReport.reason(reply.failure()),
                    reply.millis() / 1_000.0));
            return reply;
        });
        progress.finished(name + ": "
                + (found.smallestMb().isPresent() ? found.smallestMb().getAsInt() + " MB" : "no heap is enough"));
        return found;
    }
}
