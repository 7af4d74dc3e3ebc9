// SPDX-License-Identifier: Apache-2.0
/**
 * The pool: files in shared memory, mapped once, cut into leases under a hard cap, which {@link
 * io.rdmashuffle.memory.RegionFactory} keeps. {@code store.ChunkedOutput} writes map outputs into leases.
 *
 * <p>May use {@code ffi}, {@code lifecycle}, {@code memory.host}, {@code memory.slice}, {@code text} and SLF4J. Must
 * never depend on the contents of a lease, its readers, or Spark.
 */
@NullMarked
package io.rdmashuffle.memory;

import org.jspecify.annotations.NullMarked;
