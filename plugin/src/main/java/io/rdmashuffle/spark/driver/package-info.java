// SPDX-License-Identifier: Apache-2.0
/**
 * The driver: its registry endpoint, the reports that it collects from executors, and decisions for all of them.
 * {@link io.rdmashuffle.spark.driver.DriverEndpoint} reports each removed executor to the registry, {@link
 * io.rdmashuffle.spark.driver.DriverReports} marks its last report.
 *
 * <p>May use {@code conf}, {@code fabric.shm}, {@code fabric.tcp}, {@code lifecycle}, {@code registry}, {@code
 * shuffle}, {@code spark.compat}, {@code spark.metrics}, {@code spark.rpc}, {@code spark.support}, {@code spark.ui},
 * {@code store}, {@code text}, Spark and SLF4J. Must never wait for an executor on a thread of Spark.
 */
@NullMarked
package io.rdmashuffle.spark.driver;

import org.jspecify.annotations.NullMarked;
