// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Sink of bytes in place, without an intermediate array. */
@FunctionalInterface
public interface PieceSink {
    /**
     * Takes bytes as {@link org.apache.spark.unsafe.Platform} addresses them.
     *
     * @param base an array, or null for memory outside of the heap
     * @param offset of the first byte from {@code base}, or its address
     */
    void writeFrom(@Nullable Object base, long offset, int length) throws IOException;
}
