// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

/**
 * Checksums of the rows of one map output, by which Spark tells whether a stage that ran again wrote the same
 * (SPARK-51756, from Spark 4.1 on).
 *
 * <p><b>Threading:</b> one task thread.
 */
public interface RowChecksums {
    /** Of a shuffle without such checksums. */
    RowChecksums NONE = (partition, key, value) -> {};

    /** Takes one record. */
    void update(int partition, Object key, Object value);
}
