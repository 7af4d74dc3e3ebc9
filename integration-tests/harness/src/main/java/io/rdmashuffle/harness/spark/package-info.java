// SPDX-License-Identifier: Apache-2.0
/**
 * What a Spark application asks about itself: bytes that its shuffle moved, and what it still holds; and calls that
 * not every Spark has in the same way.
 *
 * <p>May use Spark and the plugin. Must never change what it measures.
 */
@NullMarked
package io.rdmashuffle.harness.spark;

import org.jspecify.annotations.NullMarked;
