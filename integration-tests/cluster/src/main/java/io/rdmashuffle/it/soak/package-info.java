// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/soak}: random jobs under random configurations and faults, each result compared with sort shuffle's.
 *
 * <p>May use {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, {@code io.rdmashuffle.harness.spark},
 * Spark, and the plugin's counters. Must never hurt a process that it did not start.
 */
@NullMarked
package io.rdmashuffle.it.soak;

import org.jspecify.annotations.NullMarked;
