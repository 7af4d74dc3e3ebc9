// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.submit;

import io.rdmashuffle.harness.ShuffleMode;
import io.rdmashuffle.harness.cli.ShuffleModeConverter;
import io.rdmashuffle.harness.cli.UsageErrors;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;

/**
 * Turns {@code bin/submit}'s arguments into the command that runs spark-submit, and writes it to a file, each argument
 * ended by a NUL. The file stays empty if there is nothing to run.
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
            List<String> command = help ? List.of("--help") : arguments(parsed);
            try {
                Files.writeString(file, String.join("\0", SparkLauncherAccess.command(command)) + "\0");
            } catch (IOException e) {
                parsed.commandSpec().commandLine().getErr().println("submit: " + e.getMessage());
                return CommandLine.ExitCode.SOFTWARE;
            }
            return CommandLine.ExitCode.OK;
        });
        System.exit(commandLine.execute(List.of(args).subList(1, args.length).toArray(String[]::new)));
    }

    /** Returns our option and all of spark-submit's. */
    static CommandSpec spec() {
        CommandSpec spec = CommandSpec.create().name("submit");
        spec.usageMessage()
                .description(
                        "What spark-submit does, without a Spark installation and with the RDMA shuffle on.",
                        "Default master: " + DEFAULT_MASTER + ".",
                        "-Dspark.line=LINE takes another line of Spark than 4.1: 3.5_2.12, 3.5_2.13, 4.0 or 4.2.",
                        "")
                .footer("", "All other options are spark-submit's own. What it says of them:")
                .synopsisHeading("Usage: ")
                .customSynopsis(
                        "submit [-Dspark.line=LINE] [--fabric MODE] [options of spark-submit] --class CLASS APP.jar"
                                + " [ARGUMENT...]")
                .width(110);
        spec.addOption(OptionSpec.builder("--fabric")
                .paramLabel("MODE")
                .type(ShuffleMode.class)
                .converters(new ShuffleModeConverter())
                .defaultValue("auto")
                .description("How the shuffle reaches peers: ${COMPLETION-CANDIDATES}; sort is Spark's own. Default:"
                        + " ${DEFAULT-VALUE}")
                .build());
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

    /** Returns the arguments for spark-submit: ours first, so that the user's win. */
    static List<String> arguments(ParseResult parsed) {
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
            if (!parsed.hasMatchedOption("--master") && !parsed.hasMatchedOption("--remote")) {
                arguments.addAll(List.of("--master", DEFAULT_MASTER));
            }
        }
        List<String> given = parsed.originalArgs();
        int options = given.size() - application.size();
        for (int i = 0; i < options; i++) {
            String argument = given.get(i);
            if (argument.equals("--fabric")) {
                i++;
            } else if (!argument.startsWith("--fabric=")) {
                arguments.add(argument);
            }
        }
        arguments.addAll(application);
        return arguments;
    }

    private static boolean exists(String application) {
        // A URI of another file system, or one of spark-submit's names for things without a file, is Spark's to judge.
        return application.contains(":") || application.startsWith("spark-") || Files.exists(Path.of(application));
    }
}
