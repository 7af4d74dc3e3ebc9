// SPDX-License-Identifier: Apache-2.0
/**
 * The shuffle's counters as Spark's metrics system, listeners and event log have them: each executor's own, and on the
 * driver the last report of each.
 *
 * <p>May use {@code fabric}, {@code registry}, {@code store}, Spark, Dropwizard, Jackson and SLF4J. Must never fail
 * an application, be called on the way of a block, or ask another process when a sink asks for a value.
 */
@NullMarked
package io.rdmashuffle.spark.metrics;

import org.jspecify.annotations.NullMarked;
