// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.suites.agent.ShuffleEvidence;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs one class of JUnit tests in this JVM: Spark's Java suites, and our replacements of suites.
 *
 * <p><b>Threading:</b> JUnit calls it from one thread.
 */
final class JUnitSuite implements TestExecutionListener {
    private final EventFile events = EventFile.ofThisProcess();
    private long startedNanos;

    private JUnitSuite() {}

    /** Called with the class's name. */
    public static void main(String[] args) {
        JUnitSuite listener = new JUnitSuite();
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(args[0]))
                .build();
        LauncherFactory.create().execute(request, listener);
        ShuffleEvidence.collect();
        listener.events.add(SuiteEvent.completed(ShuffleEvidence.snapshot()));
        // Threads that a test left must not keep the process.
        System.exit(0);
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        if (identifier.isTest()) {
            startedNanos = System.nanoTime();
            events.add(SuiteEvent.started(identifier.getDisplayName()));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier identifier, String reason) {
        events.add(SuiteEvent.skipped(identifier.getDisplayName(), ScalaTestReporter.oneLine(reason)));
    }

    @Override
    public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        String name = identifier.getDisplayName();
        String message = result.getThrowable()
                .map(failure -> {
                    failure.printStackTrace();
                    return ScalaTestReporter.oneLine(failure.toString());
                })
                .orElse("");
        if (!identifier.isTest()) {
            if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                events.add(SuiteEvent.aborted(name + ": " + message));
            }
            return;
        }
        long millis = (System.nanoTime() - startedNanos) / 1_000_000;
        switch (result.getStatus()) {
            case SUCCESSFUL -> events.add(SuiteEvent.passed(name, millis));
            case ABORTED -> events.add(SuiteEvent.skipped(name, "aborted: " + message));
            case FAILED -> events.add(SuiteEvent.failed(name, millis, message));
        }
    }
}
