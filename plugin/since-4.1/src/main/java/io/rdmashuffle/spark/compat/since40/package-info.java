// SPDX-License-Identifier: Apache-2.0
/**
 * A page of the user interface of Spark 4.0 and newer, whose servlets are of {@code jakarta.servlet}.
 *
 * <p>May use {@code spark.compat} and Spark. Must never be loaded on another Spark.
 */
@NullMarked
package io.rdmashuffle.spark.compat.since40;

import org.jspecify.annotations.NullMarked;
