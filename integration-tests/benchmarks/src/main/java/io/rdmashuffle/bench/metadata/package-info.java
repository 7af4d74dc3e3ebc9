// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench metadata}: what finding map outputs costs as clusters grow, with registry, directories and indexes
 * of many simulated executors in one process. Everything simulated is the plugin's own code on pools in shared memory;
 * only Spark's RPC is missing, in whose place encoded messages are counted.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.bench.membership}, {@code io.rdmashuffle.harness.cli},
 * and the plugin. Must never use Spark.
 */
@NullMarked
package io.rdmashuffle.bench.metadata;

import org.jspecify.annotations.NullMarked;
