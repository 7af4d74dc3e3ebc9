// SPDX-License-Identifier: Apache-2.0
/**
 * Records to map outputs: gathers records by partition, in Spark's execution memory and temporary files, and writes
 * them into the pool or into Spark's shuffle files; takes the output of Spark's own writers too.
 *
 * <p>A row is copied into {@link io.rdmashuffle.shuffle.write.PartitionedRecordBuffer} when it is taken. At commit each
 * partition is copied from there through {@link io.rdmashuffle.shuffle.write.PoolMapOutputWriter} into the pool, by
 * {@link io.rdmashuffle.store.ChunkedOutput#append(io.rdmashuffle.store.ChunkedOutput.Source, int,
 * java.util.zip.Checksum)}. Spilled or compressed records enter the pool through a stream of the same writer. Spark's
 * own writers come in through {@link io.rdmashuffle.shuffle.write.PoolExecutorComponents}. {@code
 * PoolMapOutputWriter#moveToFile} moves an output to a Spark shuffle file when both tiers are full.
 *
 * <p>May use {@code conf}, {@code directory}, {@code lifecycle}, {@code memory}, {@code memory.disk},
 * {@code memory.slice}, {@code shuffle}, {@code shuffle.combine}, {@code shuffle.format}, {@code spark.compat},
 * {@code store}, Spark and SLF4J. Must never pull a record before the last one has been serialised, or report success
 * before the output can be found.
 */
@NullMarked
package io.rdmashuffle.shuffle.write;

import org.jspecify.annotations.NullMarked;
