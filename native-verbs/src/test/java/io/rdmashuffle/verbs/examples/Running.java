// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process whose output, both streams in one, is collected line by line.
 *
 * <p><b>Threading:</b> one thread, and one of its own that reads. <b>Ownership:</b> the creator kills it.
 */
final class Running {
    private static final long LIMIT_SECONDS = 120;

    private final List<String> command;
    private final Process process;
    private final Thread reader;
    private final StringBuilder output = new StringBuilder();

    Running(List<String> command) throws IOException {
        this.command = command;
        this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
        this.reader = new Thread(this::read, "test-reader");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader lines = process.inputReader()) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                synchronized (output) {
                    output.append(line).append('\n');
                    output.notifyAll();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            synchronized (output) {
                output.notifyAll();
            }
        }
    }

    String output() {
        synchronized (output) {
            return output.toString();
        }
    }

    /** Waits for a line, and fails when the process ends without it. */
    Matcher awaitLine(Pattern line) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        synchronized (output) {
            while (true) {
                Matcher found = line.matcher(output.toString());
                if (found.find()) {
                    return found;
                }
                if (!reader.isAlive() || System.nanoTime() - deadline > 0) {
                    throw new AssertionError(command.subList(command.size() - 3, command.size()) + " did not print '"
                            + line + "' but: " + output);
                }
                output.wait(100);
            }
        }
    }

    /** Waits for the end; returns the exit code. */
    int awaitEnd() throws InterruptedException {
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            throw new AssertionError(command + " did not end; it printed: " + output());
        }
        reader.join(TimeUnit.SECONDS.toMillis(LIMIT_SECONDS));
        return process.exitValue();
    }

    void kill() throws InterruptedException {
        process.destroyForcibly();
        awaitEnd();
    }
}
