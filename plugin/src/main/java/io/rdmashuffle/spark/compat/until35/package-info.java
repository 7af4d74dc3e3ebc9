// SPDX-License-Identifier: Apache-2.0
/**
 * A page of the user interface of Spark 3.5, whose servlets are of {@code javax.servlet}.
 *
 * <p>May use {@code spark.compat} and Spark. Must never be loaded on another Spark.
 */
@NullMarked
package io.rdmashuffle.spark.compat.until35;

import org.jspecify.annotations.NullMarked;
