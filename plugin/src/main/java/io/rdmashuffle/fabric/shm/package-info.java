// SPDX-License-Identifier: Apache-2.0
/**
 * The fabric between processes of one host: each maps the pool of the others, read-only.
 *
 * <p>May use {@code fabric}, {@code ffi}, {@code lifecycle}, {@code memory}, {@code memory.disk},
 * {@code memory.slice} and SLF4J. Must never write to a peer's memory, or trust that two processes share a host
 * because their names say so.
 */
@NullMarked
package io.rdmashuffle.fabric.shm;

import org.jspecify.annotations.NullMarked;
