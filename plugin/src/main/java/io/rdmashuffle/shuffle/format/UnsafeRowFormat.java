// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.format;

import org.apache.spark.serializer.Serializer;
import org.apache.spark.unsafe.Platform;

/**
 * Format of Spark SQL's rows in shuffles: four bytes of length, most significant first, and the row as it lies in
 * memory.
 *
 * <p><b>Source:</b> {@code UnsafeRowSerializer} in Spark's sql/core. Its name is compared, so that applications without
 * Spark SQL need no such class.
 */
public final class UnsafeRowFormat {
    public static final int PREFIX_BYTES = Integer.BYTES;

    private static final String SERIALIZER = "org.apache.spark.sql.execution.UnsafeRowSerializer";

    private UnsafeRowFormat() {}

    /** Returns whether records of a shuffle are rows that may be copied, and used, as they lie. */
    public static boolean areWrittenBy(Serializer serializer) {
        // Rows follow one another at any address.
        return Platform.unaligned() && serializer.getClass().getName().equals(SERIALIZER);
    }
}
