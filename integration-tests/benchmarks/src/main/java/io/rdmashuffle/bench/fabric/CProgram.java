// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A yardstick in C, compiled here.
 *
 * <p><b>Threading:</b> of one thread.
 *
 * <p><b>Ownership:</b> owns the compiled file.
 */
final class CProgram implements AutoCloseable {
    private static final String SOURCES = "integration-tests/benchmarks/src/test/c/";

    private static final int LIMIT_MINUTES = 2;

    private final Path program;

    private CProgram(Path program) {
        this.program = program;
    }

    /**
     * Compiles a program.
     *
     * @param name of its source, without the suffix
     * @param options of the compiler that follow the source, for libraries
     * @return null, with a line on standard error, where it does not compile
     */
    static @Nullable CProgram build(String name, String... options) throws IOException, InterruptedException {
        Path source = Path.of(System.getProperty("rdmashuffle.root", ""), SOURCES + name + ".c");
        CProgram built = new CProgram(Files.createTempFile(name, ""));
        List<String> command =
                new ArrayList<>(List.of("gcc", "-O2", "-o", built.program.toString(), source.toString()));
        command.addAll(List.of(options));
        try {
            String unused = output(command);
            return built;
        } catch (IOException e) {
            System.err.println("without the C program: " + e.getMessage());
            built.close();
            return null;
        }
    }

    /** Runs it; returns the numbers that it prints. */
    long[] run(String... arguments) throws IOException, InterruptedException {
        List<String> command = Stream.concat(Stream.of(program.toString()), Stream.of(arguments))
                .toList();
        return Arrays.stream(output(command).strip().split(" ", -1))
                .mapToLong(Long::parseLong)
                .toArray();
    }

    private static String output(List<String> command) throws IOException, InterruptedException {
        // Libraries write warnings to standard error.
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
                throw new IOException(String.join(" ", command) + " did not end within " + LIMIT_MINUTES + " minutes");
            }
            if (process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + " failed with exit code " + process.exitValue());
            }
            // Its few lines fit into the pipe.
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } finally {
            process.destroyForcibly();
        }
    }

    @Override
    public void close() throws IOException {
        Files.delete(program);
    }
}
