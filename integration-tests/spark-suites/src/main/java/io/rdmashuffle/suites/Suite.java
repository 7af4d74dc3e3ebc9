// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import java.util.List;
import java.util.Map;

/**
 * A suite to run.
 *
 * @param name how it is called in reports and names of files
 * @param origin the suite of Spark that it is or replaces, fully qualified; exemptions name this
 * @param className the class that runs, fully qualified
 * @param engine what runs it
 * @param tests whole names of the only tests to run; empty for all
 * @param conf Spark configuration of every application that leaves the key open
 */
record Suite(
        String name, String origin, String className, Engine engine, List<String> tests, Map<String, String> conf) {
    /** Spark line that a suite is written for. */
    enum Engine {
        SCALATEST,
        JUNIT
    }

    Suite {
        tests = List.copyOf(tests);
        conf = Map.copyOf(conf);
    }

    /** Returns a suite of Spark as it is. */
    static Suite asItIs(String name, String className, Engine engine) {
        return new Suite(name, className, className, engine, List.of(), Map.of());
    }

    /** Returns a class of ours that runs whole in place of one of Spark. */
    static Suite inPlaceOf(String name, String origin, String className, Engine engine) {
        return new Suite(name, origin, className, engine, List.of(), Map.of());
    }

    boolean isReplacement() {
        return !origin.equals(className);
    }

    /**
     * Returns whether exemptions apply: not to our own tests, nor to configurations in which exempt tests pass.
     */
    boolean mayBeExempt() {
        return tests.isEmpty() && (engine == Engine.SCALATEST || !isReplacement());
    }
}
