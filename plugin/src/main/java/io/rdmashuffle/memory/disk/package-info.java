// SPDX-License-Identifier: Apache-2.0
/**
 * The disk tier: files in Spark's local directories behind the memory of the pool, divided into leases like it.
 *
 * <p>{@link io.rdmashuffle.memory.disk.TieredPool#reserve} decides lease by lease: memory while it has room, disk when
 * it has none. {@link io.rdmashuffle.memory.disk.TieredPool#write} writes the bytes of an output to disk. {@code
 * store.Demotion} moves finished outputs to disk when memory runs short.
 *
 * <p>May use {@code memory}, {@code memory.slice}, {@code ffi}, {@code text} and SLF4J.
 */
@NullMarked
package io.rdmashuffle.memory.disk;

import org.jspecify.annotations.NullMarked;
