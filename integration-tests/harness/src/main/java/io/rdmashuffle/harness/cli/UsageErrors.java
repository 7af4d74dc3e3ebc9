// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness.cli;

import java.io.PrintWriter;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;

/**
 * Handler of invalid command lines: prints the problem, then all valid options.
 *
 * <p>picocli's own handler leaves the list out when it has a suggestion.
 */
public final class UsageErrors implements IParameterExceptionHandler {
    @Override
    public int handleParseException(ParameterException error, String[] args) {
        CommandLine command = error.getCommandLine();
        PrintWriter err = command.getErr();
        String name = command.getCommandName();
        err.println(name + ": " + error.getMessage());
        CommandLine.UnmatchedArgumentException.printSuggestions(error, err);
        List<String> options = command.getCommandSpec().options().stream()
                .map(option -> String.join("|", option.names()))
                .toList();
        err.println("Valid options: " + String.join(", ", options) + "; " + name + " --help explains them.");
        err.flush();
        return CommandLine.ExitCode.USAGE;
    }
}
