/**
 * The fabric between processes of one host: each maps the pool of the others, read-only.
 *
 * <p>May use {@code io.rdmashuffle.fabric} and {@code io.rdmashuffle.memory}. Must never write to a peer's memory, and never
 * trust that two processes share a host because their names say so.
 */
@NullMarked
package io.rdmashuffle.fabric.shm;

import org.jspecify.annotations.NullMarked;
