// SPDX-License-Identifier: Apache-2.0
/**
 * The map outputs of this executor: how their bytes get into the pool, which of them are there, and what has been
 * counted.
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
