// SPDX-License-Identifier: Apache-2.0
/**
 * TPC-DS: generated data cached as Parquet, its schema, and the queries that come with Spark's own tests.
 * {@code TextGenerator} runs in a separate JVM without Spark; everything else runs with Spark.
 *
 * <p>May use {@code io.rdmashuffle.harness}, Spark and the generator. Must never depend on the plugin: the same data
 * and queries serve sort shuffle.
 */
@NullMarked
package io.rdmashuffle.harness.tpcds;

import org.jspecify.annotations.NullMarked;
