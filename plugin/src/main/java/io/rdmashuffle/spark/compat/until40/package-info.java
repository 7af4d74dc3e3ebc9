// SPDX-License-Identifier: Apache-2.0
/**
 * Spark 3.5, with Scala 2.12 or 2.13, and Spark 4.0.
 *
 * <p>May use {@code spark.compat} and Spark. Must not be loaded on a newer Spark.
 */
@NullMarked
package io.rdmashuffle.spark.compat.until40;

import org.jspecify.annotations.NullMarked;
