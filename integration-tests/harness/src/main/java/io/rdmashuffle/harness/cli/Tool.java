// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Command of {@code bin/}: it prints to standard output, has {@code --help}, answers an invalid command line with all
 * valid options, and a failure of the environment with one line.
 *
 * <p><b>Threading:</b> one thread, that of {@code main}.
 */
@Command(sortOptions = false, usageHelpWidth = 110, exitCodeListHeading = "%nExit code:%n")
public abstract class Tool implements Callable<Integer> {
    /** Output of the tool. */
    protected final PrintStream out = System.out;

    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = "-Dspark.line",
            order = Integer.MAX_VALUE - 1,
            paramLabel = "LINE",
            description = "Spark version: 3.5_2.12, 3.5_2.13, 4.0, 4.1 or 4.2. Default: 4.1")
    @SuppressWarnings("UnusedVariable") // The scripts in bin read it, to start this JVM with that version.
    private @Nullable String line;

    @Option(
            names = {"-h", "--help"},
            order = Integer.MAX_VALUE,
            usageHelp = true,
            description = "Show this and end")
    @SuppressWarnings("UnusedVariable") // picocli looks at it.
    private boolean help;

    /** Runs the tool and exits with its exit code. */
    protected static void run(Tool tool, String[] args) {
        System.exit(tool.commandLine().execute(args));
    }

    /** Returns a parser that fills this object and calls it. */
    public final CommandLine commandLine() {
        CommandLine commandLine = new CommandLine(this);
        commandLine.setParameterExceptionHandler(new UsageErrors());
        commandLine.setExecutionExceptionHandler((exception, command, parsed) -> failed(exception, command));
        return commandLine;
    }

    /**
     * Validates the options beyond what picocli can; an {@link IllegalArgumentException} becomes a usage error with its
     * message.
     */
    protected final void check(Runnable options) {
        checked(() -> {
            options.run();
            return options;
        });
    }

    /**
     * Returns what only sound options give; an {@link IllegalArgumentException} becomes a usage error with its message.
     */
    protected final <T> T checked(Supplier<T> options) {
        try {
            return options.get();
        } catch (IllegalArgumentException e) {
            if (spec == null) {
                throw e;
            }
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    /**
     * Reports a failure: one line for failures of the environment, a stack trace for others.
     */
    private static int failed(Exception exception, CommandLine command) {
        PrintWriter err = command.getErr();
        err.println(command.getCommandName() + ": " + exception.getMessage());
        if (!(exception instanceof IOException || exception instanceof IllegalStateException)) {
            exception.printStackTrace(err);
        }
        err.flush();
        return CommandLine.ExitCode.SOFTWARE;
    }
}
