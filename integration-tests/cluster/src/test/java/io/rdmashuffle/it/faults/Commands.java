// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.faults;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** Commands of the system, of which some need root. */
final class Commands {
    private static final long SECONDS = 10;

    private Commands() {}

    /** Runs a command; fails with its output. */
    static void run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            if (!process.waitFor(SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IOException(List.of(command) + " did not end");
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new InterruptedIOException(List.of(command) + " was interrupted");
        }
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        if (process.exitValue() != 0) {
            throw new IOException(List.of(command) + " failed: " + output);
        }
    }

    /** Runs what shows whether the rest is allowed; else the test is skipped. */
    static void orSkip(String... command) throws IOException {
        try {
            run(command);
        } catch (IOException e) {
            skip(e);
        }
    }

    /** Skips the test for want of rights; fails it with {@code REQUIRE_ROOT=1}. */
    static void skip(IOException reason) throws IOException {
        if ("1".equals(System.getenv("REQUIRE_ROOT"))) {
            throw reason;
        }
        Assumptions.abort("needs root: " + reason.getMessage());
    }
}
