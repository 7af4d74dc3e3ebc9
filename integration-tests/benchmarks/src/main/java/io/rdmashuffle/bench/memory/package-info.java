// SPDX-License-Identifier: Apache-2.0
/**
 * {@code bin/bench memory}: the smallest executor heap with which a job completes, on sort shuffle and on ours. Each
 * probe is an application of its own with one executor of that heap ({@link ProbeServer}); the bench's own process
 * starts no Spark and searches.
 *
 * <p>May use {@code io.rdmashuffle.bench}, {@code io.rdmashuffle.harness}, {@code io.rdmashuffle.harness.cli}, and
 * Spark. Must never call a heap enough that has not been so several times over.
 */
@NullMarked
package io.rdmashuffle.bench.memory;

import org.jspecify.annotations.NullMarked;
