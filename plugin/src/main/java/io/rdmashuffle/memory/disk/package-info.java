// SPDX-License-Identifier: Apache-2.0
/**
 * The disk tier: files in Spark's local directories behind the memory of the pool, divided into leases like it.
 *
 * <p>{@link io.rdmashuffle.memory.disk.TieredPool#reserve} decides lease by lease: memory while it has room, disk when
 * it has none. {@code store.Demotion} moves outputs here later.
 *
 * <p>May use {@code memory}, {@code memory.slice}, {@code ffi}, {@code text} and SLF4J.
 */
@NullMarked
package io.rdmashuffle.memory.disk;

import org.jspecify.annotations.NullMarked;
