// SPDX-License-Identifier: Apache-2.0
/**
 * Spark version, class path and application settings, as this jar finds them.
 *
 * <p>May use {@code conf}, {@code spark.compat}, {@code spark.compat.since41}, {@code spark.compat.until40},
 * {@code spark.metrics} and Spark. Must never start a thread or hold a resource.
 */
@NullMarked
package io.rdmashuffle.spark.support;

import org.jspecify.annotations.NullMarked;
