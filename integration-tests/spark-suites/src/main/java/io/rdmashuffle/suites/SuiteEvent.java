// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import java.util.Map;

/**
 * Event line of a suite's JVM.
 *
 * @param kind what happened
 * @param test the test's name; empty if the event is of the suite
 * @param millis how long it took
 * @param message why it failed or was skipped, in one line; else empty
 * @param evidence of {@link Kind#COMPLETED} only: which shuffle manager was used, how often
 */
record SuiteEvent(Kind kind, String test, long millis, String message, Map<String, Long> evidence) {
    /** Kind of an event. A suite that did not say {@link #COMPLETED} did not end by itself. */
    enum Kind {
        STARTED,
        PASSED,
        FAILED,
        /** Ignored, canceled, pending or disabled. */
        SKIPPED,
        /** Something outside of any test failed. */
        ABORTED,
        COMPLETED
    }

    static SuiteEvent started(String test) {
        return new SuiteEvent(Kind.STARTED, test, 0, "", Map.of());
    }

    static SuiteEvent passed(String test, long millis) {
        return new SuiteEvent(Kind.PASSED, test, millis, "", Map.of());
    }

    static SuiteEvent failed(String test, long millis, String message) {
        return new SuiteEvent(Kind.FAILED, test, millis, message, Map.of());
    }

    static SuiteEvent skipped(String test, String message) {
        return new SuiteEvent(Kind.SKIPPED, test, 0, message, Map.of());
    }

    static SuiteEvent aborted(String message) {
        return new SuiteEvent(Kind.ABORTED, "", 0, message, Map.of());
    }

    static SuiteEvent completed(Map<String, Long> evidence) {
        return new SuiteEvent(Kind.COMPLETED, "", 0, "", evidence);
    }
}
