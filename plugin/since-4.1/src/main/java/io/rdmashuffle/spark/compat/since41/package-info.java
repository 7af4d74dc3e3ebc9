// SPDX-License-Identifier: Apache-2.0
/**
 * Calls of Spark 4.1 and newer, in a separate Maven module: the plugin is compiled against the oldest Spark, which
 * lacks these members.
 *
 * <p>May use {@code spark.compat} and Spark. Must not be loaded on an older Spark.
 */
@NullMarked
package io.rdmashuffle.spark.compat.since41;

import org.jspecify.annotations.NullMarked;
