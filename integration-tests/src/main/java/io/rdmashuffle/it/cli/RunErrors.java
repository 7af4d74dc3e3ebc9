package io.rdmashuffle.it.cli;

import java.io.IOException;
import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/** Answers a command that failed: one line for what the surroundings did to it, a stack trace too for what it did itself. */
public final class RunErrors implements IExecutionExceptionHandler {
    @Override
    public int handleExecutionException(Exception exception, CommandLine command, ParseResult parsed) {
        PrintWriter err = command.getErr();
        err.println(command.getCommandName() + ": " + exception.getMessage());
        if (!(exception instanceof IOException || exception instanceof IllegalStateException)) {
            exception.printStackTrace(err);
        }
        err.flush();
        return CommandLine.ExitCode.SOFTWARE;
    }
}
