// SPDX-License-Identifier: Apache-2.0
/**
 * Blocks to records: reads blocks in place, copies them one-sidedly or fetches them over Spark's block transfer, and
 * answers each exactly once.
 *
 * <p>{@link io.rdmashuffle.shuffle.read.BlockLookup} locates the blocks of a task, {@link
 * io.rdmashuffle.shuffle.read.FetchWindow} posts reads for blocks that are copied, and {@link
 * io.rdmashuffle.shuffle.read.BlockReader} copies each into records. It compares the checksums of blocks that it
 * copies; {@code directory.StoredBlock#isIntact} compares those of blocks that are read in place. A
 * missing, damaged or withdrawn block goes to Spark's fetch: Spark's own iterator, started by {@link
 * io.rdmashuffle.shuffle.read.SparkFetch}, raises {@code FetchFailedException} if that fails too. {@link
 * io.rdmashuffle.shuffle.read.BlockReader#fetchFailed} raises it for a block that cannot be read to its end, since
 * records of it may have been handed out.
 *
 * <p>May use {@code conf}, {@code directory}, {@code fabric}, {@code lifecycle}, {@code memory}, {@code memory.slice},
 * {@code peer}, {@code shuffle}, {@code shuffle.buffer}, {@code shuffle.combine}, {@code shuffle.format},
 * {@code spark.compat}, {@code store}, {@code text}, Spark and SLF4J. Must never hand out bytes of a peer before
 * checksum and generation have been compared, or wait without a deadline.
 */
@NullMarked
package io.rdmashuffle.shuffle.read;

import org.jspecify.annotations.NullMarked;
