// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.spark.compat.SparkLine;
import org.apache.spark.SparkConf;
import org.apache.spark.storage.BlockManager;

/**
 * Services of the executor for direct writers.
 *
 * @param spark the calls that differ between versions of Spark
 * @param conf Spark's configuration
 * @param blockManager temporary files, and this executor's name
 * @param components destination of map outputs
 * @param sizes sizes reported to Spark
 * @param compressesAll whether the shuffle is compressed in every destination
 */
public record WriteServices(
        SparkLine spark,
        SparkConf conf,
        BlockManager blockManager,
        PoolExecutorComponents components,
        ReportedSizes sizes,
        boolean compressesAll) {}
