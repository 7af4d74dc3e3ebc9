// SPDX-License-Identifier: Apache-2.0
/**
 * The plugin's configuration: one typed entry per key, and one immutable object with every value read and checked.
 *
 * <p>May use the JDK only. Must never import Spark (a look-up function stands for {@code SparkConf}), load native code,
 * or replace a bad value silently: whatever is out of range fails at start, all problems in one message.
 */
@NullMarked
package io.rdmashuffle.conf;

import org.jspecify.annotations.NullMarked;
