// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

/**
 * Checksums of the rows of one map output, by which Spark detects whether a repeated stage wrote the same rows
 * (SPARK-51756, from Spark 4.1 on).
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RowChecksums {
    /** Of a shuffle without such checksums. */
    RowChecksums NONE = (partition, key, value) -> {};

    /** Adds one record. */
    void update(int partition, Object key, Object value);
}
