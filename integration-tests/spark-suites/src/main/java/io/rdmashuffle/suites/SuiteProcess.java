// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.harness.Workspace;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Runs one suite in a separate JVM, to its end or to a time limit.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> when {@link #run} returns or throws, no process is left of it.
 */
final class SuiteProcess {
    private static final long POLL_MILLIS = 250;

    private final Suite suite;
    private final Setting setting;
    private final SuiteFiles files;

    SuiteProcess(Suite suite, Setting setting) {
        this.suite = suite;
        this.setting = setting;
        this.files = SuiteFiles.of(suite, setting);
    }

    /**
     * Settings that all suites of a run share.
     *
     * @param conf what every application of a suite gets
     * @param label of the shuffle, for names of files
     * @param test runs only tests with this in their names; empty for all
     * @param timeout of one suite
     */
    record Setting(Workspace workspace, Map<String, String> conf, String label, String test, Duration timeout) {}

    /** End of a JVM: seconds, and its problem. */
    record Ending(long seconds, Optional<String> problem) {}

    /**
     * Runs the suite to its end or to the time limit.
     *
     * @param watcher gets all events so far, now and then
     */
    Ending run(Consumer<List<SuiteEvent>> watcher) throws IOException, InterruptedException {
        files.prepare();
        ProcessFamily family = new ProcessFamily();
        Thread endOfParent = new Thread(family::kill, "kill-" + suite.name());
        Runtime.getRuntime().addShutdownHook(endOfParent);
        long started = System.nanoTime();
        try {
            ProcessBuilder builder = new SuiteCommand(suite, setting, files).builder();
            family.adopt(builder);
            Process process = builder.start();
            boolean ended = await(process, started, watcher);
            long seconds = Math.round((System.nanoTime() - started) / 1e9);
            return new Ending(seconds, ended ? problem(process) : Optional.of(timedOut()));
        } finally {
            family.kill();
            Runtime.getRuntime().removeShutdownHook(endOfParent);
            removeScratch();
        }
    }

    /** Files that cannot be deleted must not lose the result. */
    private void removeScratch() {
        try {
            files.removeScratch();
        } catch (IOException e) {
            System.err.println("spark-suites: " + files.scratch() + " could not be removed: " + e);
        }
    }

    private boolean await(Process process, long started, Consumer<List<SuiteEvent>> watcher)
            throws IOException, InterruptedException {
        while (!process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
            watcher.accept(files.events().read());
            if (System.nanoTime() - started > setting.timeout().toNanos()) {
                return false;
            }
        }
        return true;
    }

    private String timedOut() throws IOException {
        return "killed after " + setting.timeout().toSeconds() + " s" + during();
    }

    private Optional<String> problem(Process process) throws IOException {
        boolean completed = files.events().read().stream().anyMatch(event -> event.kind() == SuiteEvent.Kind.COMPLETED);
        return completed
                ? Optional.empty()
                : Optional.of("ended early with exit code " + process.exitValue() + during());
    }

    private String during() throws IOException {
        return RunningTest.of(files.events().read())
                .map(test -> ", in '" + test + "'")
                .orElse("");
    }

    SuiteFiles files() {
        return files;
    }
}
