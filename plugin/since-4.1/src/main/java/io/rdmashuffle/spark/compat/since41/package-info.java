// SPDX-License-Identifier: Apache-2.0
/**
 * Spark 4.1 and newer, in a Maven module of its own: the plugin is compiled against the oldest Spark, which lacks
 * what is called here.
 *
 * <p>May use {@code spark.compat} and Spark. Must not be loaded on an older Spark.
 */
@NullMarked
package io.rdmashuffle.spark.compat.since41;

import org.jspecify.annotations.NullMarked;
