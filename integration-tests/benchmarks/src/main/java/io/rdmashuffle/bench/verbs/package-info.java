// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench verbs}: the native-verbs library beside perftest, at both of its levels.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.perftest}, {@code io.rdmashuffle.harness.cli},
 * and native-verbs, which the plugin is built on. Must never use Spark: it measures the library alone.
 */
@NullMarked
package io.rdmashuffle.bench.verbs;

import org.jspecify.annotations.NullMarked;
