// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench micro}: the cost of single calls of the plugin under JMH.
 *
 * <p>May use JMH, Spark and the plugin. Must never be compared with figures of another machine.
 */
@NullMarked
package io.rdmashuffle.bench.micro;

import org.jspecify.annotations.NullMarked;
