// SPDX-License-Identifier: Apache-2.0
/**
 * Blocks to records: reads blocks in place, copies them one-sidedly or fetches them over Spark's block transfer, and
 * answers each exactly once.
 *
 * <p>May use {@code directory}, {@code fabric}, {@code lifecycle}, {@code memory}, {@code memory.slice},
 * {@code peer}, {@code shuffle}, {@code shuffle.buffer}, {@code shuffle.combine}, {@code shuffle.format},
 * {@code spark.compat}, {@code store}, {@code text}, Spark and SLF4J. Must never hand out bytes of a peer before
 * checksum and generation have been compared, or wait without a deadline.
 */
@NullMarked
package io.rdmashuffle.shuffle.read;

import org.jspecify.annotations.NullMarked;
