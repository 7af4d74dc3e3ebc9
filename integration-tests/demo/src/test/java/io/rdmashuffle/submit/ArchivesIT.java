// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.submit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.harness.Workspace;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Class-data archives, as {@code bin/submit --cds} makes them and as the documentation has users make them. */
@Tag("system")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class ArchivesIT {
    private static final String MANAGER = "io.rdmashuffle.spark.RdmaShuffleManager source: ";
    private static final String FROM_ARCHIVE = MANAGER + "shared objects file (top)";
    private static final String GROUPS = "1000 rows in 10 groups: right";

    private final Workspace workspace = Workspace.find();

    @TempDir
    Path folder = Path.of("");

    /** Runs a script that has sourced what bin/submit sources; returns all that it printed. */
    private String bash(String script, List<String> arguments) throws IOException, InterruptedException {
        Path log = Files.createTempFile(folder, "run", ".log");
        List<String> command = new ArrayList<>(List.of(
                "bash",
                "-euc",
                ". " + workspace.root() + "/bin/lib/common.sh; . " + workspace.root() + "/bin/lib/archives.sh;"
                        + " find_java; use_line \"$1\"; shift; " + script,
                "ArchivesIT",
                System.getProperty("spark.line", "")));
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().remove("SPARK_CONF_DIR");
        Process process = builder.start();
        try {
            int code = process.waitFor();
            assertThat(code).as(Files.readString(log)).isZero();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        return Files.readString(log);
    }

    private List<String> job(String... options) {
        List<String> all = new ArrayList<>(List.of(options));
        all.addAll(List.of(
                "--master",
                "local-cluster[1,1,1024]",
                "--conf",
                "spark.ui.enabled=false",
                "--conf",
                "spark.executor.extraJavaOptions=-Xlog:class+load:file=" + folder.resolve("loaded.log"),
                "--class",
                "io.rdmashuffle.examples.GroupBy",
                workspace.jar("demo").toString(),
                "1000",
                "10"));
        return all;
    }

    private String loaded() throws IOException {
        return Files.readString(folder.resolve("loaded.log"));
    }

    private String submit(Path archives) throws IOException, InterruptedException {
        List<String> given = job("--cds-folder", archives.toString());
        CommandLine commandLine = new CommandLine(SubmitCommand.spec()).setStopAtPositional(true);
        List<String> arguments = new ArrayList<>(List.of(archives.toString()));
        arguments.addAll(SubmitCommand.arguments(
                commandLine.parseArgs(given.toArray(String[]::new)), workspace.applicationClassPath()));
        return bash("make_archives \"$1\"; spark_submit \"${@:2}\"; \"${COMMAND[@]}\"", arguments);
    }

    @Test
    void archivesAreMadeAndUsedUntilJavaChanges() throws Exception {
        Path archives = folder.resolve("archives");
        assertThat(submit(archives)).contains("making class-data archives").contains(GROUPS);
        assertThat(loaded()).contains(FROM_ARCHIVE);
        assertNothingOfJnrWasLoaded();
        try (Stream<Path> files = Files.list(archives)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder("driver.jsa", "executor.jsa", "lock", "made-by", "no-conf", "train.log");
        }

        String isCurrent = "have_archives \"$1\" && echo current || echo stale";
        assertThat(bash(isCurrent, List.of(archives.toString()))).contains("current");
        Files.writeString(archives.resolve("made-by"), "another Java");
        assertThat(bash(isCurrent, List.of(archives.toString()))).contains("stale");
    }

    @Test
    @Tag("nightly")
    void aBrokenArchiveHurtsNoJobAndIsNotMadeAgain() throws Exception {
        Path archives = folder.resolve("archives");
        submit(archives);
        Path executors = archives.resolve("executor.jsa");
        Files.delete(executors);
        Files.writeString(executors, "this is no archive");
        FileTime broken = Files.getLastModifiedTime(executors);
        assertThat(submit(archives))
                .doesNotContain("making class-data archives")
                .contains(GROUPS);
        assertThat(loaded()).contains(MANAGER).doesNotContain(FROM_ARCHIVE);
        assertThat(Files.getLastModifiedTime(executors)).isEqualTo(broken);
    }

    /** The commands of docs/performance.md with another folder and another job. */
    @Test
    @Tag("nightly")
    void documentedCommandsMakeAUsableArchive() throws Exception {
        List<List<String>> documented = documentedSettings();
        assertThat(documented).hasSize(2);
        Path noConf = Files.createDirectories(folder.resolve("no-conf"));
        List<String> logging = List.of(
                "--conf",
                "spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager",
                "--conf",
                "spark.driver.extraClassPath=" + workspace.applicationClassPath(),
                "--conf",
                "spark.executor.extraClassPath=" + workspace.applicationClassPath(),
                "--conf",
                "spark.driver.extraJavaOptions=-Dlog4j2.configurationFile="
                        + Path.of(System.getenv("SPARK_HOME"), "conf", "log4j2.properties"));
        for (List<String> settings : documented) {
            List<String> options = new ArrayList<>(logging);
            settings.forEach(setting -> options.addAll(List.of("--conf", setting)));
            List<String> arguments = new ArrayList<>(List.of(noConf.toString()));
            arguments.addAll(job(options.toArray(String[]::new)));
            String script = "export SPARK_CONF_DIR=$1; spark_submit \"${@:2}\"; \"${COMMAND[@]}\"; await_end_of "
                    + folder.resolve("executor.jsa");
            assertThat(bash(script, arguments)).contains(GROUPS);
        }
        assertThat(folder.resolve("executor.jsa")).isNotEmptyFile();
        assertThat(loaded()).contains(FROM_ARCHIVE);
    }

    private List<List<String>> documentedSettings() throws IOException {
        String page = Files.readString(workspace.root().resolve("docs/performance.md"));
        String section = page.substring(page.indexOf("## A faster first job"));
        String commands = section.substring(section.indexOf("```sh"), section.indexOf("```\n\n"));
        Pattern setting = Pattern.compile("--conf (spark\\.executor\\S+)");
        return Arrays.stream(commands.split("\nspark-submit ", -1))
                .skip(1)
                .map(command -> setting.matcher(command)
                        .results()
                        .map(found -> setting(found).replace("/opt/spark/cds", folder.toString()))
                        .toList())
                .toList();
    }

    private static String setting(MatchResult found) {
        return found.group(1);
    }

    /** Shared memory does not need jnr-ffi, which would be a fifth of the classes loaded at an executor's start. */
    private void assertNothingOfJnrWasLoaded() throws IOException {
        String[] devices = new File("/sys/class/infiniband").list();
        if (devices == null || devices.length == 0) {
            assertThat(loaded())
                    .contains("com.kenai.jffi.Invoker ")
                    .doesNotContain("io.rdmashuffle.shaded.jnr.")
                    .doesNotContain("io.rdmashuffle.shaded.asm.")
                    .doesNotContain("io.rdmashuffle.shaded.kryo5.Kryo ");
        }
    }
}
