// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs {@code cc} and the compiled program; files stay in the given directory. */
final class CCompiler {
    /** How a command ended, and all that it printed. */
    record Result(boolean ok, String output) {}

    private CCompiler() {}

    /** Compiles and runs a program; the output is the compiler's when that failed. */
    static Result program(Path directory, String name, String source) throws IOException, InterruptedException {
        Path binary = directory.resolve(name);
        Result compiled = compile(directory, name, source, List.of("-o", binary.toString()));
        return compiled.ok() ? run(directory, List.of(binary.toString())) : compiled;
    }

    /** Compiles a shared library and returns its path. */
    static Path library(Path directory, String name, String source) throws IOException, InterruptedException {
        Path library = directory.resolve("lib" + name + ".so");
        Result compiled = compile(directory, name, source, List.of("-shared", "-fPIC", "-o", library.toString()));
        if (!compiled.ok()) {
            throw new IOException("cannot compile " + name + ": " + compiled.output());
        }
        return library;
    }

    private static Result compile(Path directory, String name, String source, List<String> options)
            throws IOException, InterruptedException {
        Path file = directory.resolve(name + ".c");
        Files.writeString(file, source);
        List<String> command = new ArrayList<>(List.of("cc", "-O2", "-Wall", "-Werror", file.toString()));
        command.addAll(options);
        return run(directory, command);
    }

    /** Runs a command. */
    static Result run(Path directory, List<String> command) throws IOException, InterruptedException {
        Path output = Files.createTempFile(directory, "output", ".txt");
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(output.toFile())
                    .start();
        } catch (IOException e) {
            return new Result(false, String.valueOf(e.getMessage()));
        }
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            return new Result(false, command + " did not end within 30 s");
        }
        return new Result(process.exitValue() == 0, Files.readString(output, StandardCharsets.UTF_8));
    }
}
