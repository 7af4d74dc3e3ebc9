// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.submit;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.Workspace;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.UsageErrors;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Turns {@code bin/submit}'s arguments into the command that runs spark-submit, and writes it to a file, each argument
 * ended by a NUL. The file stays empty if there is nothing to run. With {@code --cds} the file has no command but that
 * word, a folder for class-data archives, and spark-submit's arguments: the archives come first.
 */
public final class SubmitCommand {
    static final String DEFAULT_MASTER = "local-cluster[2,1,1024]";

    /** Options with which spark-submit needs no application. */
    private static final Set<String> WITHOUT_APPLICATION = Set.of("--version", "--status", "--kill");

    private SubmitCommand() {}

    /** Called with the file to write, then with what the user gave. */
    public static void main(String[] args) {
        Path file = Path.of(args[0]);
        CommandLine commandLine = new CommandLine(spec()).setStopAtPositional(true);
        commandLine.setParameterExceptionHandler(new UsageErrors());
        commandLine.setExecutionStrategy(parsed -> {
            boolean help = CommandLine.executeHelpRequest(parsed) != null;
            // Spark explains its own options better than we could.
            List<String> arguments = help
                    ? List.of("--help")
                    : arguments(parsed, Workspace.find().applicationClassPath());
            try {
                Files.writeString(file, String.join("\0", written(parsed, arguments)) + "\0");
            } catch (IOException e) {
                parsed.commandSpec().commandLine().getErr().println("submit: " + e.getMessage());
                return CommandLine.ExitCode.SOFTWARE;
            }
            return CommandLine.ExitCode.OK;
        });
        System.exit(commandLine.execute(List.of(args).subList(1, args.length).toArray(String[]::new)));
    }

    private static List<String> written(ParseResult parsed, List<String> arguments) throws IOException {
        Path archives = archives(parsed);
        if (archives == null) {
            return SparkLauncherAccess.command(arguments);
        }
        List<String> written = new ArrayList<>(List.of("--cds", archives.toString()));
        written.addAll(arguments);
        return written;
    }

    /** Returns our options and all of spark-submit's. */
    static CommandSpec spec() {
        CommandSpec spec = CommandSpec.create().name("submit");
        spec.usageMessage()
                .description(
                        "What spark-submit does, without a Spark installation and with the RDMA shuffle on.",
                        "Default master: " + DEFAULT_MASTER + ".",
                        "-Dspark.line=LINE selects another Spark version than 4.1: 3.5_2.12, 3.5_2.13, 4.0 or 4.2.",
                        "")
                .footer("", "All other options are spark-submit's own. Its help:")
                .synopsisHeading("Usage: ")
                .customSynopsis("submit [-Dspark.line=LINE] [--fabric MODE] [--cds | --cds-folder DIR]"
                        + " [options of spark-submit] --class CLASS APP.jar [ARGUMENT...]")
                .width(110);
        addOurs(spec);
        for (List<String> names : SparkLauncherAccess.valuedOptions()) {
            spec.addOption(OptionSpec.builder(names.toArray(String[]::new))
                    .paramLabel("VALUE")
                    .type(List.class)
                    .auxiliaryTypes(String.class)
                    .arity("1")
                    .hidden(true)
                    .build());
        }
        for (List<String> names : SparkLauncherAccess.switches()) {
            boolean help = names.contains("--help");
            // Only spark-submit's own launcher passes this one.
            if (!names.contains("--usage-error")) {
                spec.addOption(OptionSpec.builder(names.toArray(String[]::new))
                        .type(boolean.class)
                        .usageHelp(help)
                        .hidden(!help)
                        .description("Show this and end")
                        .build());
            }
        }
        spec.addPositional(PositionalParamSpec.builder()
                .index("0..*")
                .type(List.class)
                .auxiliaryTypes(String.class)
                .paramLabel("APP")
                .description("The application's jar, then its arguments")
                .build());
        return spec;
    }

    private static void addOurs(CommandSpec spec) {
        spec.addOption(OptionSpec.builder("--fabric")
                .paramLabel("MODE")
                .type(ShuffleMode.class)
                .converters(new ShuffleModeConverter())
                .defaultValue("auto")
                .description("How the shuffle reaches peers: ${COMPLETION-CANDIDATES}; sort is Spark's own. Default:"
                        + " ${DEFAULT-VALUE}")
                .build());
        spec.addOption(OptionSpec.builder("--cds")
                .type(boolean.class)
                .description("Start executors and driver with archives of their classes, below target/cds; a small job"
                        + " makes them first if there are none of these jars and this Java. Excludes SPARK_CONF_DIR")
                .build());
        spec.addOption(OptionSpec.builder("--cds-folder")
                .paramLabel("DIR")
                .type(Path.class)
                .description("The same, with archives in a folder")
                .build());
    }

    /**
     * Returns the arguments for spark-submit: ours first, so that the user's win, except for class paths, to which the
     * plugin is added.
     *
     * @param plugin the class path that brings the plugin
     */
    static List<String> arguments(ParseResult parsed, String plugin) {
        List<String> application = parsed.matchedPositionalValue(0, List.of());
        boolean needsApplication = WITHOUT_APPLICATION.stream().noneMatch(parsed::hasMatchedOption);
        CommandLine commandLine = parsed.commandSpec().commandLine();
        if (needsApplication && application.isEmpty()) {
            throw new ParameterException(commandLine, "no application: give its jar after the options");
        }
        if (needsApplication && !exists(application.get(0))) {
            throw new ParameterException(commandLine, "no such application file: " + application.get(0));
        }
        List<String> arguments = new ArrayList<>();
        if (needsApplication) {
            ShuffleMode fabric = parsed.matchedOptionValue("--fabric", ShuffleMode.AUTO);
            fabric.conf().forEach((key, value) -> arguments.addAll(List.of("--conf", key + "=" + value)));
            arguments.addAll(archiveSettings(archives(parsed)));
            if (!parsed.hasMatchedOption("--master") && !parsed.hasMatchedOption("--remote")) {
                arguments.addAll(List.of("--master", DEFAULT_MASTER));
            }
        }
        List<String> given = parsed.originalArgs();
        int options = given.size() - application.size();
        for (int i = 0; i < options; i++) {
            String argument = given.get(i);
            if (argument.equals("--fabric") || argument.equals("--cds-folder")) {
                i++;
            } else if (!argument.equals("--cds")
                    && !argument.startsWith("--fabric=")
                    && !argument.startsWith("--cds-folder=")) {
                arguments.add(argument);
            }
        }
        if (needsApplication) {
            arguments.addAll(classPaths(parsed, plugin));
        }
        arguments.addAll(application);
        return arguments;
    }

    private static List<String> classPaths(ParseResult parsed, String plugin) {
        String driver = lastOf(
                parsed.matchedOptionValue("--driver-class-path", List.<String>of()),
                setting(parsed, "spark.driver.extraClassPath"));
        String executor = setting(parsed, "spark.executor.extraClassPath");
        return List.of(
                "--driver-class-path", driver + plugin, "--conf", "spark.executor.extraClassPath=" + executor + plugin);
    }

    private static String setting(ParseResult parsed, String key) {
        List<String> values = parsed.matchedOptionValue("--conf", List.<String>of()).stream()
                .filter(setting -> setting.startsWith(key + "="))
                .map(setting -> setting.substring(key.length() + 1))
                .toList();
        return lastOf(values, "");
    }

    /** Returns the last of the class paths, or another one, with a separator behind it unless it is empty. */
    private static String lastOf(List<String> paths, String otherwise) {
        if (paths.isEmpty()) {
            return otherwise;
        }
        String last = paths.get(paths.size() - 1);
        return last.isEmpty() || last.endsWith(File.pathSeparator) ? last : last + File.pathSeparator;
    }

    /** Returns the folder of class-data archives; null if none are wanted. */
    private static @Nullable Path archives(ParseResult parsed) {
        Path folder = parsed.matchedOptionValue("--cds-folder", null);
        if (folder == null && !parsed.hasMatchedOption("--cds")) {
            return null;
        }
        if (System.getenv("SPARK_CONF_DIR") != null) {
            throw new ParameterException(
                    parsed.commandSpec().commandLine(),
                    "--cds: SPARK_CONF_DIR is set, and no folder with files may be in a class path that is archived;"
                            + " unset it and give --properties-file");
        }
        return folder == null
                ? Path.of(
                                System.getProperty("rdmashuffle.root", ""),
                                "target",
                                "cds",
                                System.getProperty("spark.line", ""))
                        .toAbsolutePath()
                : folder.toAbsolutePath();
    }

    /** A JVM ignores an archive of other classes. The user's Java options are added. */
    private static List<String> archiveSettings(@Nullable Path archives) {
        List<String> settings = new ArrayList<>();
        if (archives != null) {
            String logging = System.getenv("SPARK_HOME") + "/conf/log4j2.properties";
            for (String role : List.of("driver", "executor")) {
                settings.add("--conf");
                settings.add("spark." + role + ".defaultJavaOptions=\"-XX:SharedArchiveFile="
                        + archives.resolve(role + ".jsa") + "\" \"-Dlog4j2.configurationFile=" + logging + "\"");
            }
        }
        return settings;
    }

    private static boolean exists(String application) {
        // A URI of another file system, or one of spark-submit's names for things without a file, is Spark's to judge.
        return application.contains(":") || application.startsWith("spark-") || Files.exists(Path.of(application));
    }
}
