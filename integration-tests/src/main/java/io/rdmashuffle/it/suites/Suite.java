package io.rdmashuffle.it.suites;

/**
 * A suite to run.
 *
 * @param name how it is called in reports and names of files
 * @param origin the suite of Spark that it is or stands in for, fully qualified; exemptions name this
 * @param className the class that runs, fully qualified
 * @param engine what runs it
 */
record Suite(String name, String origin, String className, Engine engine) {
    /** What a suite is written for. */
    enum Engine {
        SCALATEST,
        JUNIT
    }

    boolean isStandIn() {
        return !origin.equals(className);
    }
}
