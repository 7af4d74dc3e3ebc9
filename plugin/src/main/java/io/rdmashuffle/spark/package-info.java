// SPDX-License-Identifier: Apache-2.0
/**
 * Entry points that Spark loads by name: the shuffle manager and the data plugin, and the fallback to sort shuffle.
 *
 * <p>May use {@code conf}, {@code ffi}, {@code memory}, {@code peer}, {@code registry}, {@code shuffle},
 * {@code shuffle.read}, {@code shuffle.serve}, {@code shuffle.write}, {@code spark.compat}, {@code spark.driver},
 * {@code spark.executor}, {@code spark.support}, {@code store}, Spark and SLF4J. Must never hold static state:
 * several applications may run in one JVM, one after another.
 */
@NullMarked
package io.rdmashuffle.spark;

import org.jspecify.annotations.NullMarked;
