// SPDX-License-Identifier: Apache-2.0
/**
 * Measurements of a Spark application: bytes of its shuffle, and held resources; and calls that differ between Spark
 * versions.
 *
 * <p>May use Spark and the plugin. Must never affect the measured application.
 */
@NullMarked
package io.rdmashuffle.harness.spark;

import org.jspecify.annotations.NullMarked;
