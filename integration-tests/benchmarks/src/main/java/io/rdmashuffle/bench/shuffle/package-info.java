// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench shuffle}: jobs that are mostly shuffle, on sort shuffle with files on disk, on sort shuffle with
 * files in memory, and on ours, in turn in one run. Each of the three is an application of its own
 * ({@link io.rdmashuffle.bench.jobs.BenchApplication}) that lives for the whole run.
 *
 * <p>{@code bin/bench remote} runs the same over the model of a link.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.jobs}, {@code io.rdmashuffle.bench.link},
 * {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, Spark, and the plugin's counters. Must never
 * report a ratio of jobs that did not move the same records.
 */
@NullMarked
package io.rdmashuffle.bench.shuffle;

import org.jspecify.annotations.NullMarked;
