// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.Tool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code bin/spark-suites}: Spark's own test suites with the RDMA shuffle. */
@Command(
        name = "spark-suites",
        description = {
            "Runs Spark's own test suites, from its tests jars, with the RDMA shuffle, each in a separate JVM, and"
                    + " shows passed and failed tests, and the number of shuffles by manager.",
            ""
        },
        exitCodeList = {
            "0:every suite ran tests with the chosen shuffle, and none failed without an exemption",
            "1:a test failed, a suite aborted, was killed or ran no test, or its shuffles went elsewhere",
            "2:an option was wrong or there is no such suite"
        })
public final class SparkSuites extends Tool {
    @Mixin
    SuitesOptions options = new SuitesOptions();

    /** Called by {@code bin/spark-suites}. */
    public static void main(String[] args) {
        run(new SparkSuites(), args);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check(options::check);
        Workspace workspace = Workspace.find();
        List<Suite> suites = suites(workspace);
        ShuffleMode fabric = options.fabric();
        SuiteProcess.Setting setting = new SuiteProcess.Setting(
                workspace, options.applicationConf(), fabric.toString(), options.test(), options.timeout());
        Exemptions exemptions = Exemptions.load().of(fabric);
        List<SuiteResult> results = new ArrayList<>();
        try (SuitesProgress progress = new SuitesProgress(out, suites.size())) {
            for (Suite suite : suites) {
                results.add(run(suite, setting, fabric, exemptions, progress));
            }
        }
        SuitesReport.print(out, fabric, results, exemptions, SuiteFiles.folder(workspace));
        return results.stream().allMatch(SuiteResult::acceptable)
                ? CommandLine.ExitCode.OK
                : CommandLine.ExitCode.SOFTWARE;
    }

    private static SuiteResult run(
            Suite suite,
            SuiteProcess.Setting setting,
            ShuffleMode fabric,
            Exemptions exemptions,
            SuitesProgress progress)
            throws IOException, InterruptedException {
        progress.starting(suite);
        SuiteProcess process = new SuiteProcess(suite, setting);
        SuiteProcess.Ending ending = process.run(progress::running);
        SuiteResult result = SuiteResult.of(
                suite,
                fabric,
                ending.seconds(),
                ending.problem(),
                process.files().events().read(),
                exemptions);
        progress.finished(result);
        return result;
    }

    /** Finds all suites before the first one starts. */
    private List<Suite> suites(Workspace workspace) throws IOException {
        SuiteCatalogue catalogue = new SuiteCatalogue(
                SuiteCatalogue.classNamesIn(SuiteFiles.classes(workspace)), SparkSuites.class.getClassLoader());
        return checked(() -> options.suites().stream()
                .flatMap(name -> catalogue.resolve(name, options.fabric()).stream())
                .distinct()
                .toList());
    }
}
