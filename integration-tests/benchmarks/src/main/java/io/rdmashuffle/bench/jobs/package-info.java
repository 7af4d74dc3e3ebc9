// SPDX-License-Identifier: Apache-2.0
/**
 * Jobs that are mostly shuffle, and applications that run and measure them: what {@code bin/bench shuffle} and
 * {@code bin/bench pressure} have in common. Each application is a process of its own ({@link BenchServer}); the
 * bench's own process starts no Spark and asks it over its standard streams ({@link BenchApplication}).
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.link}, {@code io.rdmashuffle.harness},
 * {@code io.rdmashuffle.harness.spark}, Spark, and the plugin's counters. Must never report a ratio: only benches know
 * comparable runs.
 */
@NullMarked
package io.rdmashuffle.bench.jobs;

import org.jspecify.annotations.NullMarked;
