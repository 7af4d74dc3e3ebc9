// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import io.rdmashuffle.suites.SuiteEvent.Kind;
import java.util.List;
import java.util.Optional;

/** The test that began and has not ended. */
final class RunningTest {
    private RunningTest() {}

    static Optional<String> of(List<SuiteEvent> events) {
        String running = null;
        for (SuiteEvent event : events) {
            if (event.kind() == Kind.STARTED) {
                running = event.test();
            } else if (event.test().equals(running)) {
                running = null;
            }
        }
        return Optional.ofNullable(running);
    }
}
