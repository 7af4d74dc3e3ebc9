// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.jspecify.annotations.Nullable;

/**
 * Test of Spark that fails with this shuffle for a good reason. Another test verifies the same: one of ours, or the
 * test itself in another configuration.
 *
 * @param suite the suite of Spark, fully qualified
 * @param test the test's whole name
 * @param reason why it must fail
 * @param equivalent our test that says the same of this shuffle: class, {@code #}, method; null for none
 * @param runsIn name of the {@linkplain SuiteReplacement suite} in which it runs and passes; null for none
 */
record Exemption(
        String suite,
        String test,
        String reason,
        @Nullable String equivalent,
        @Nullable String runsIn) {
    /** Names the other test. */
    String instead() {
        return runsIn == null ? String.valueOf(equivalent) : equivalent == null ? runsIn : equivalent + ", " + runsIn;
    }
}
