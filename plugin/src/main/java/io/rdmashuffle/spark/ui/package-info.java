// SPDX-License-Identifier: Apache-2.0
/**
 * The tab "RDMA shuffle" of Spark's user interface, of an application that runs and in the history server.
 *
 * <p>May use {@code conf}, {@code fabric}, {@code registry}, {@code spark.compat}, {@code spark.compat.since40},
 * {@code spark.compat.until35}, {@code spark.metrics}, {@code store}, {@code text}, Spark and SLF4J. Must never fail an
 * application, or put a text into a page that has not been escaped.
 */
@NullMarked
package io.rdmashuffle.spark.ui;

import org.jspecify.annotations.NullMarked;
