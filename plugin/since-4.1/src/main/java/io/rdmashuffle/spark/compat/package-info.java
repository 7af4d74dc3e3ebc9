// SPDX-License-Identifier: Apache-2.0
/**
 * Calls that differ between the supported versions of Spark and Scala. The plugin calls
 * {@link io.rdmashuffle.spark.compat.SparkLine}; {@code since41} and {@code until40} implement the two sides of the one
 * change that needs two implementations.
 *
 * <p>May use Spark. Must never be bypassed: a member that some Spark version lacks is called only here.
 */
@NullMarked
package io.rdmashuffle.spark.compat;

import org.jspecify.annotations.NullMarked;
