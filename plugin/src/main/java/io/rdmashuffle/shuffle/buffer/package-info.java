// SPDX-License-Identifier: Apache-2.0
/**
 * Pool memory as Spark's buffers and streams.
 *
 * <p>May use {@code memory.slice}, Spark, Netty and SLF4J. Must never read bytes without a
 * reference that keeps them where they are, or hand out bytes of a peer without asking afterwards whether they were
 * still its own.
 */
@NullMarked
package io.rdmashuffle.shuffle.buffer;

import org.jspecify.annotations.NullMarked;
