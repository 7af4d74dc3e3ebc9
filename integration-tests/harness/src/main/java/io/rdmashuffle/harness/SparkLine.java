// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

/**
 * Supported Spark version, by its name in the build: a profile of the root pom has its versions of Spark and Scala.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param name such as {@code 4.1}, or {@code 3.5_2.12} where there are several versions of Scala
 */
public record SparkLine(String name) {
    /** Property with the version in commands of {@code bin}, in Maven, and in their JVMs. */
    public static final String KEY = "spark.line";

    private static final String SINCE_SPARK_4 = "2.13";

    /** Returns the Spark version that this JVM was started for, by a command of {@code bin} or by Maven. */
    public static SparkLine current() {
        String name = System.getProperty(KEY);
        if (name == null) {
            throw new IllegalStateException("no Spark version is set; set -D" + KEY);
        }
        return new SparkLine(name);
    }

    /** Returns the version of Scala, as {@code SPARK_SCALA_VERSION} has it. */
    public String scalaVersion() {
        int separator = name.indexOf('_');
        return separator < 0 ? SINCE_SPARK_4 : name.substring(separator + 1);
    }

    /**
     * Returns whether executors create their shuffle manager after they have fetched the jars of {@code --jars}; those
     * of Spark 3.5 do so before.
     */
    public boolean takesManagerFromJars() {
        return !name.startsWith("3.");
    }

    /** Returns the option for another JVM of the same Spark version. */
    public String option() {
        return "-D" + KEY + "=" + name;
    }

    @Override
    public String toString() {
        return name;
    }
}
