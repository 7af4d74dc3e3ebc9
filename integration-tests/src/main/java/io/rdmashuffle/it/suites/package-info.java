/**
 * Spark's own test suites, run with the RDMA shuffle: {@code bin/spark-suites}.
 *
 * <p>The command ({@link io.rdmashuffle.it.suites.SparkSuites}) starts no Spark. Each suite gets a virtual machine of its own
 * ({@link io.rdmashuffle.it.suites.SuiteProcess}), in which an agent chooses the shuffle manager and counts what went
 * through it, and a reporter writes one line an event ({@link io.rdmashuffle.it.suites.SuiteEvent}) to a file that the
 * command reads. Must never call a suite passed of which no test ran or whose shuffles went elsewhere.
 */
@NullMarked
package io.rdmashuffle.it.suites;

import org.jspecify.annotations.NullMarked;
