// SPDX-License-Identifier: Apache-2.0
/**
 * Pool memory as Spark's buffers and streams.
 *
 * <p>May use {@code directory}, {@code memory}, Spark and Netty. Must never read memory without a reference that keeps
 * it mapped, or hand out bytes of a peer without asking afterwards whether they were still its own.
 */
@NullMarked
package io.rdmashuffle.shuffle.buffer;

import org.jspecify.annotations.NullMarked;
