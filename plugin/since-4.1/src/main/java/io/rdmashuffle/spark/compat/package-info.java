// SPDX-License-Identifier: Apache-2.0
/**
 * Every call that differs between the lines of Spark and Scala that this jar runs on. {@link
 * io.rdmashuffle.spark.compat.SparkLine} is what the plugin calls; {@code since41} and {@code until40} are the sides of
 * the one change that divides the lines.
 *
 * <p>May use Spark. Must never be passed by: a member that not every line has is called here or nowhere.
 */
@NullMarked
package io.rdmashuffle.spark.compat;

import org.jspecify.annotations.NullMarked;
