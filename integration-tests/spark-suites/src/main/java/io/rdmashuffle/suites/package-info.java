// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/spark-suites}: Spark's own test suites, run with the RDMA shuffle. The command ({@link SparkSuites})
 * starts no Spark. Each suite runs in a separate JVM ({@link SuiteProcess}), in which an agent sets the shuffle manager
 * and counts shuffles, and a reporter writes one line per event ({@link SuiteEvent}) to a file that the command reads.
 *
 * <p>May use {@code io.rdmashuffle.suites.agent}, {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli},
 * Spark with its tests, ScalaTest, JUnit, and the plugin's counters. Must never call a suite passed of which no test
 * ran or whose shuffles went elsewhere.
 */
@NullMarked
package io.rdmashuffle.suites;

import org.jspecify.annotations.NullMarked;
