// SPDX-License-Identifier: Apache-2.0
/**
 * Entry points and everything that touches {@code SparkEnv}: the shuffle manager, the parts of driver and executor that
 * it owns, and RPC endpoints.
 *
 * <p>May use {@code conf}, {@code directory}, {@code fabric}, {@code fabric.shm}, {@code fabric.verbs}, {@code ffi},
 * {@code lifecycle}, {@code memory}, {@code peer}, {@code registry}, {@code shuffle}, {@code shuffle.migrate},
 * {@code shuffle.read}, {@code shuffle.serve}, {@code shuffle.write}, {@code spark.compat},
 * {@code spark.compat.since41}, {@code spark.compat.until40}, {@code spark.metrics}, {@code spark.ui}, {@code store},
 * {@code text}, {@code verbs}, Spark and SLF4J. Must never hold static state: several applications may run in one
 * virtual machine,
 * one after another.
 */
@NullMarked
package io.rdmashuffle.spark;

import org.jspecify.annotations.NullMarked;
