// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench pressure}: jobs with pools from twice their data down to nothing, in place and copying, beside sort
 * shuffle; with a table and a plot that can be committed.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.jobs}, {@code io.rdmashuffle.harness},
 * {@code io.rdmashuffle.harness.cli}, and the plugin's counters. Must never report a ratio of jobs that did not move
 * the same records.
 */
@NullMarked
package io.rdmashuffle.bench.pressure;

import org.jspecify.annotations.NullMarked;
