// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.combine;

import org.apache.spark.SparkConf;

/**
 * Bytes that a collection of a task may hold without requesting memory from Spark: as much as Spark's own may.
 *
 * <p><b>Threading:</b> immutable. <b>Source:</b> {@code org.apache.spark.util.collection.Spillable}.
 *
 * @param bytes on the heap, as estimated
 * @param records that were put in
 */
public record FreeRoom(long bytes, int records) {
    private static final String BYTES = "spark.shuffle.spill.initialMemoryThreshold";
    /** A bound from Spark 4.1 on (SPARK-49386); there is none unless it is set. */
    private static final String MOST_BYTES = "spark.shuffle.spill.maxSizeInBytesForSpillThreshold";

    private static final String RECORDS = "spark.shuffle.spill.numElementsForceSpillThreshold";

    /** Reads it from Spark's configuration: 5 MiB, of any number of records, unless that says otherwise. */
    public static FreeRoom of(SparkConf conf) {
        long bytes = Math.min(conf.getSizeAsBytes(BYTES, "5m"), conf.getSizeAsBytes(MOST_BYTES, Long.MAX_VALUE));
        return new FreeRoom(bytes, conf.getInt(RECORDS, Integer.MAX_VALUE));
    }
}
