// SPDX-License-Identifier: Apache-2.0
/**
 * This executor's blocks as Spark's block manager asks for them: for its own tasks, for peers over Spark's block
 * transfer, and for decommissioning. {@link io.rdmashuffle.shuffle.serve.PoolBlocks} compares checksums before it hands
 * out a block.
 *
 * <p>May use {@code directory}, {@code lifecycle}, {@code memory}, {@code memory.slice}, {@code peer},
 * {@code shuffle}, {@code shuffle.buffer}, {@code shuffle.migrate}, {@code spark.compat}, {@code store} and Spark. Must
 * never hand out a block of the pool before its checksums have been compared, unless verification is switched off.
 */
@NullMarked
package io.rdmashuffle.shuffle.serve;

import org.jspecify.annotations.NullMarked;
