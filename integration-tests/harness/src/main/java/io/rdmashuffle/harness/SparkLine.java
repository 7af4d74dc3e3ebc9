// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

/**
 * A line of Spark that the plugin runs on, by the name that the build has for it: a profile of the root pom says which
 * version of Spark and of Scala it stands for.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param name such as {@code 4.1}, or {@code 3.5_2.12} where there are several versions of Scala
 */
public record SparkLine(String name) {
    /** Names the line in commands of {@code bin}, in Maven, and in the virtual machines that they start. */
    public static final String KEY = "spark.line";

    private static final String SINCE_SPARK_4 = "2.13";

    /** Returns the line that this virtual machine was started for: by a command of {@code bin}, or by Maven. */
    public static SparkLine current() {
        String name = System.getProperty(KEY);
        if (name == null) {
            throw new IllegalStateException("no line of Spark is named; set -D" + KEY);
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

    /** Returns the option that starts another virtual machine for the same line. */
    public String option() {
        return "-D" + KEY + "=" + name;
    }

    @Override
    public String toString() {
        return name;
    }
}
