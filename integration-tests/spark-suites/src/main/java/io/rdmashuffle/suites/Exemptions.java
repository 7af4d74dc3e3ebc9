// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.harness.ShuffleMode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * All exemptions of Spark's suites, from one committed file. Unneeded entries are errors.
 *
 * @param tests that fail
 * @param otherManagers suites some of whose shuffles another manager takes
 */
record Exemptions(List<Exemption> tests, List<OtherManager> otherManagers) {
    private static final String RESOURCE = "exemptions.json";

    /**
     * A suite some of whose shuffles do not go through this manager.
     *
     * @param suite the suite of Spark, fully qualified
     * @param reason what makes them so
     */
    record OtherManager(String suite, String reason) {}

    Exemptions {
        tests = List.copyOf(tests);
        otherManagers = List.copyOf(otherManagers);
    }

    /** Returns that nothing is left out. */
    static Exemptions none() {
        return new Exemptions(List.of(), List.of());
    }

    /** Reads the committed file. */
    static Exemptions load() {
        try (InputStream stream = Exemptions.class.getResourceAsStream(RESOURCE)) {
            if (stream == null) {
                throw new IOException("no resource " + RESOURCE + " beside " + Exemptions.class.getName());
            }
            return new ObjectMapper().readValue(stream, Exemptions.class);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the exemptions for a shuffle: a test with another configuration is exempt only outside it. */
    Exemptions of(ShuffleMode fabric) {
        if (fabric == ShuffleMode.SORT) {
            return none();
        }
        return new Exemptions(
                tests.stream()
                        .filter(exemption -> exemption.runsIn() == null
                                || SuiteReplacement.of(exemption.suite(), fabric).stream()
                                        .anyMatch(suite -> suite.name().equals(exemption.runsIn())))
                        .toList(),
                otherManagers);
    }

    /** Returns the tests of a suite that are exempt. */
    List<String> testsOf(Suite suite) {
        return tests.stream()
                .filter(exemption -> suite.mayBeExempt() && exemption.suite().equals(suite.origin()))
                .map(Exemption::test)
                .toList();
    }

    /** Returns the tests that run in a replacement. */
    List<String> testsIn(String replacement) {
        return tests.stream()
                .filter(exemption -> replacement.equals(exemption.runsIn()))
                .map(Exemption::test)
                .toList();
    }

    /** Returns whether another manager may take shuffles of a suite. */
    boolean mayShuffleElsewhere(Suite suite) {
        return otherManagers.stream().anyMatch(other -> other.suite().equals(suite.origin()));
    }
}
