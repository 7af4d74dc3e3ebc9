// SPDX-License-Identifier: Apache-2.0
/**
 * The demo: TPC-DS queries on sort shuffle and on ours, results compared, times and bytes by path shown. Each shuffle
 * manager has its own JVM and local cluster ({@link QueryServer}); the demo's own process ({@link Demo}) starts no
 * Spark and talks to both over their standard streams.
 *
 * <p>May use {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, {@code io.rdmashuffle.harness.spark},
 * {@code io.rdmashuffle.harness.tpcds}, Spark, and the plugin's counters. Must never decide that results are equal on
 * anything less than all rows.
 */
@NullMarked
package io.rdmashuffle.demo;

import org.jspecify.annotations.NullMarked;
