// SPDX-License-Identifier: Apache-2.0
/**
 * Registry messages between driver and executors: Spark's RPC, and block transfer between executors.
 *
 * <p>May use {@code lifecycle}, {@code registry}, {@code shuffle.serve}, {@code spark.compat}, Spark and SLF4J. Must
 * never send a class of this jar through Spark's RPC, whose threads do not know its class loader: bytes only.
 */
@NullMarked
package io.rdmashuffle.spark.rpc;

import org.jspecify.annotations.NullMarked;
