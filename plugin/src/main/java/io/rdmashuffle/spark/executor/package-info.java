// SPDX-License-Identifier: Apache-2.0
/**
 * An executor: its pool and fabrics, its connection to the others, and periodic work on both.
 *
 * <p>{@link io.rdmashuffle.spark.executor.ExecutorRuntime} puts them together. {@link
 * io.rdmashuffle.spark.executor.FabricChoice} opens the fabrics, {@link io.rdmashuffle.spark.executor.PoolSizing}
 * decides how large the pool is.
 *
 * <p>May use {@code conf}, {@code directory}, {@code fabric}, {@code fabric.ofi}, {@code fabric.shm},
 * {@code fabric.tcp}, {@code fabric.verbs}, {@code ffi}, {@code lifecycle}, {@code memory}, {@code memory.disk},
 * {@code ofi}, {@code peer}, {@code registry}, {@code shuffle}, {@code shuffle.migrate}, {@code shuffle.read},
 * {@code shuffle.write}, {@code spark.compat}, {@code spark.metrics}, {@code spark.rpc}, {@code spark.support},
 * {@code store}, {@code text}, {@code verbs}, Spark and SLF4J. Must never leave a thread, mapping or file behind when
 * the executor stops, except files that an external shuffle service serves.
 */
@NullMarked
package io.rdmashuffle.spark.executor;

import org.jspecify.annotations.NullMarked;
