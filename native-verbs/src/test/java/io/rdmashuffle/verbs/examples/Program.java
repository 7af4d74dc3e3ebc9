// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * What both programs have in common: the options of a server and of its client, messages, exit codes.
 *
 * <p><b>Threading:</b> one thread.
 */
@Command(
        sortOptions = false,
        usageHelpWidth = 110,
        customSynopsis = {
            "java -cp JARS io.rdmashuffle.verbs.examples.${COMMAND-NAME} [OPTION...]                a server",
            "       java -cp JARS io.rdmashuffle.verbs.examples.${COMMAND-NAME} [OPTION...] SERVER[:PORT]  its client"
        },
        footer = "Exit code 0: success; 1: failure, with a message; 2: wrong command line.")
abstract class Program implements Callable<Integer> {
    private static final int MAX_SECONDS = 86_400;

    @Spec
    private @Nullable CommandSpec spec;

    @Parameters(arity = "0..1", paramLabel = "SERVER[:PORT]", hidden = true, converter = HostPort.Converter.class)
    private @Nullable HostPort server;

    @Option(
            names = "--listen",
            paramLabel = "ADDRESS[:PORT]",
            converter = HostPort.Converter.class,
            description = "where the server listens; default: the first RDMA device's address, port 18515")
    private HostPort listen = new HostPort("", HostPort.DEFAULT_PORT);

    @Option(
            names = "--device",
            paramLabel = "NAME",
            description = "the RDMA device, such as mlx5_0; default: the one that the address belongs to")
    private @Nullable String device;

    @Option(
            names = "--wait",
            paramLabel = "SECONDS",
            description = "how long a server waits for its client; default: ${DEFAULT-VALUE}")
    private int wait = 300;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "how long the peer may be silent before this side gives up; default: ${DEFAULT-VALUE}")
    private int timeout = 10;

    @Option(names = "--help", usageHelp = true, description = "print this")
    @SuppressWarnings("UnusedVariable") // picocli looks at it
    private boolean help;

    /** Validates the options as a whole, then serves or connects. */
    abstract void run() throws IOException, RdmaUnavailableException;

    @Override
    public final Integer call() throws IOException, RdmaUnavailableException {
        within("--wait", wait, 1, MAX_SECONDS);
        within("--timeout", timeout, 1, MAX_SECONDS);
        if (device != null && device.isEmpty()) {
            throw misuse("--device needs a value: NAME");
        }
        HostPort peer = server;
        if (peer != null) {
            refuse("on a client", "--listen", "--wait");
            if (peer.host().isEmpty()) {
                throw misuse("the server's host is missing");
            }
        }
        run();
        return CommandLine.ExitCode.OK;
    }

    /** Returns a parser that fills this program's options and runs it. */
    final CommandLine commandLine() {
        return new CommandLine(this)
                .setExpandAtFiles(false)
                .setParameterExceptionHandler((error, words) -> misused(error))
                .setExecutionExceptionHandler((error, command, words) -> failed(error, command));
    }

    private static int misused(ParameterException error) {
        CommandSpec command = error.getCommandLine().getCommandSpec();
        String options = error instanceof UnmatchedArgumentException
                ? "; options: "
                        + command.options().stream()
                                .map(OptionSpec::longestName)
                                .collect(Collectors.joining(" "))
                : "";
        error.getCommandLine()
                .getErr()
                .println(command.name() + ": " + error.getMessage() + options + "; --help explains");
        return CommandLine.ExitCode.USAGE;
    }

    private static int failed(Exception error, CommandLine command) throws Exception {
        if (error instanceof IOException
                || error instanceof RdmaUnavailableException
                || error instanceof NativeException
                || error instanceof IllegalStateException) {
            command.getErr().println(command.getCommandName() + ": " + error.getMessage());
            return CommandLine.ExitCode.SOFTWARE;
        }
        throw error;
    }

    private CommandSpec spec() {
        return Objects.requireNonNull(spec, "set by picocli");
    }

    /** Returns where results go. */
    final PrintWriter out() {
        return spec().commandLine().getOut();
    }

    /** Returns the server to connect to; null on the server itself. */
    final @Nullable HostPort server() {
        return server;
    }

    /** Returns where to listen; without a host if that was not said. */
    final HostPort listen() {
        return listen;
    }

    final @Nullable String device() {
        return device;
    }

    /** Returns how long a server waits for its client. */
    final Duration waiting() {
        return Duration.ofSeconds(wait);
    }

    /** Returns how long the peer may be silent. */
    final Duration timeout() {
        return Duration.ofSeconds(timeout);
    }

    /** Returns a number that is within bounds. */
    final int within(String option, int value, int least, int most) {
        if (value < least || value > most) {
            throw misuse(option + " " + value + ": must be an integer from " + least + " to " + most);
        }
        return value;
    }

    /** Returns a word that is one of these. */
    final String choice(String option, String value, List<String> words) {
        if (!words.contains(value)) {
            throw misuse(option + " " + value + ": must be one of " + String.join(", ", words));
        }
        return value;
    }

    /** Refuses options that mean nothing here. */
    final void refuse(String where, String... options) {
        for (String option : options) {
            if (spec().commandLine().getParseResult().hasMatchedOption(option)) {
                throw misuse(option + " means nothing " + where);
            }
        }
    }

    /** Returns what ends the program with the exit code of a wrong command line. */
    final ParameterException misuse(String message) {
        return new ParameterException(spec().commandLine(), message);
    }

    /** Reads a number of bytes; k and m stand for KiB and MiB. */
    static final class ByteCount implements ITypeConverter<Integer> {
        @Override
        public Integer convert(String value) {
            String lower = value.toLowerCase(Locale.ROOT);
            int shift = lower.endsWith("k") ? 10 : lower.endsWith("m") ? 20 : 0;
            try {
                long number = Long.parseLong(shift == 0 ? value : value.substring(0, value.length() - 1));
                return Math.toIntExact(Math.multiplyExact(number, 1L << shift));
            } catch (ArithmeticException | NumberFormatException e) {
                throw new TypeConversionException("'" + value + "' is no number of bytes such as 4096, 64k or 1m");
            }
        }
    }
}
