// SPDX-License-Identifier: Apache-2.0
/**
 * Map outputs of this executor: writing to the pool, the store, and counters.
 *
 * <p>{@link io.rdmashuffle.store.ChunkedOutput} takes the bytes of one output, {@link
 * io.rdmashuffle.store.MapOutputStore} publishes outputs, written here or moved here.
 *
 * <p>May use {@code directory}, {@code memory}, {@code memory.disk}, {@code memory.slice}, {@code text} and SLF4J.
 * Must never import Spark, wait for others to free room in the pool, wait for anything under a lock, or free an
 * output while a reader holds a reference.
 */
@NullMarked
package io.rdmashuffle.store;

import org.jspecify.annotations.NullMarked;
