// SPDX-License-Identifier: Apache-2.0
/**
 * Configuration of the plugin: one typed entry per key, and one immutable object with all verified values.
 *
 * <p>May use the JDK only. Must never import Spark (a lookup function replaces {@code SparkConf}), load native code, or
 * replace a bad value silently: invalid values fail at start, with all problems in one message.
 */
@NullMarked
package io.rdmashuffle.conf;

import org.jspecify.annotations.NullMarked;
