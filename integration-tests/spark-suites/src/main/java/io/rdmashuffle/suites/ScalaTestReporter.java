// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.suites.agent.ShuffleEvidence;
import org.scalatest.Reporter;
import org.scalatest.events.Event;
import org.scalatest.events.RunAborted;
import org.scalatest.events.RunCompleted;
import org.scalatest.events.SuiteAborted;
import org.scalatest.events.TestCanceled;
import org.scalatest.events.TestFailed;
import org.scalatest.events.TestIgnored;
import org.scalatest.events.TestPending;
import org.scalatest.events.TestStarting;
import org.scalatest.events.TestSucceeded;
import scala.Option;

/**
 * Hears what ScalaTest's runner tells and writes it down; {@code -C} names it.
 *
 * <p><b>Threading:</b> ScalaTest calls it from one thread at a time.
 */
public final class ScalaTestReporter implements Reporter {
    private final EventFile events = EventFile.ofThisProcess();

    @Override
    public void apply(Event event) {
        if (event instanceof TestStarting test) {
            events.add(SuiteEvent.started(test.testName()));
        } else if (event instanceof TestSucceeded test) {
            events.add(SuiteEvent.passed(test.testName(), millis(test.duration())));
        } else if (event instanceof TestFailed test) {
            events.add(SuiteEvent.failed(test.testName(), millis(test.duration()), oneLine(test.message())));
        } else if (event instanceof TestIgnored test) {
            events.add(SuiteEvent.skipped(test.testName(), "ignored"));
        } else if (event instanceof TestCanceled test) {
            events.add(SuiteEvent.skipped(test.testName(), "canceled: " + oneLine(test.message())));
        } else if (event instanceof TestPending test) {
            events.add(SuiteEvent.skipped(test.testName(), "pending"));
        } else if (event instanceof SuiteAborted suite) {
            events.add(SuiteEvent.aborted(oneLine(suite.message())));
        } else if (event instanceof RunAborted run) {
            events.add(SuiteEvent.aborted(oneLine(run.message())));
        } else if (event instanceof RunCompleted) {
            ShuffleEvidence.collect();
            events.add(SuiteEvent.completed(ShuffleEvidence.snapshot()));
        }
    }

    private static long millis(Option<Object> duration) {
        return duration.isDefined() ? (Long) duration.get() : 0;
    }

    /** Messages may have whole stack traces in them, which the log has, too. */
    static String oneLine(String message) {
        String first =
                message == null ? "" : message.strip().lines().findFirst().orElse("");
        return first.length() <= 300 ? first : first.substring(0, 300) + "...";
    }
}
