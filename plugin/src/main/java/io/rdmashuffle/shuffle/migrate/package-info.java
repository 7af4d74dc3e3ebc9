// SPDX-License-Identifier: Apache-2.0
/**
 * Decommissioning: sends map outputs of the pool to other executors, and takes over those of others.
 *
 * <p>Sent by {@link io.rdmashuffle.shuffle.migrate.OutgoingOutputs}; received by {@link
 * io.rdmashuffle.shuffle.migrate.IncomingOutputs}, which checks and publishes an output once data and index are there.
 *
 * <p>May use {@code directory}, {@code lifecycle}, {@code memory}, {@code memory.disk}, {@code memory.slice},
 * {@code shuffle.buffer}, {@code spark.compat}, {@code store}, {@code text}, Spark and SLF4J. Must never publish an
 * output before data and index agree, or hold a transport thread until there is room.
 */
@NullMarked
package io.rdmashuffle.shuffle.migrate;

import org.jspecify.annotations.NullMarked;
