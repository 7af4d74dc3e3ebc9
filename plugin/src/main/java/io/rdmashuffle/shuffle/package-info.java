// SPDX-License-Identifier: Apache-2.0
/**
 * Contract between writers and readers of a shuffle: which shuffles are direct, the handle that says so, and the names
 * of their blocks.
 *
 * <p>May use Spark. Must never look things up in {@code SparkEnv}: whatever this package and those below it need is
 * handed to them by {@code io.rdmashuffle.spark.executor}.
 */
@NullMarked
package io.rdmashuffle.shuffle;

import org.jspecify.annotations.NullMarked;
