package io.rdmashuffle.it.suites;

import java.util.List;

/**
 * A suite to run.
 *
 * @param name how it is called in reports and names of files
 * @param origin the suite of Spark that it is or stands in for, fully qualified; exemptions name this
 * @param className the class that runs, fully qualified
 * @param engine what runs it
 * @param tests whole names of the only tests to run; empty for all
 */
record Suite(String name, String origin, String className, Engine engine, List<String> tests) {
    /** What a suite is written for. */
    enum Engine {
        SCALATEST,
        JUNIT
    }

    Suite {
        tests = List.copyOf(tests);
    }

    /** Returns a suite of Spark as it is. */
    static Suite asItIs(String name, String className, Engine engine) {
        return new Suite(name, className, className, engine, List.of());
    }

    boolean isStandIn() {
        return !origin.equals(className);
    }

    /** Says whether exemptions count: not for tests of our own, nor for those that run on purpose where they can pass. */
    boolean mayBeExempt() {
        return tests.isEmpty() && (engine == Engine.SCALATEST || !isStandIn());
    }
}
