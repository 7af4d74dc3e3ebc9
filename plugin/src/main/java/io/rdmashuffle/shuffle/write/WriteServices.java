// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.write;

import io.rdmashuffle.spark.compat.SparkLine;
import org.apache.spark.SparkConf;
import org.apache.spark.storage.BlockManager;

/**
 * What a direct writer needs of the executor it runs in.
 *
 * @param spark the calls that differ between versions of Spark
 * @param conf Spark's configuration
 * @param blockManager temporary files, and this executor's name
 * @param components where map outputs go
 * @param sizes what Spark is told of sizes
 * @param compressesAll whether the shuffle is compressed wherever its map outputs go
 */
public record WriteServices(
        SparkLine spark,
        SparkConf conf,
        BlockManager blockManager,
        PoolExecutorComponents components,
        ReportedSizes sizes,
        boolean compressesAll) {}
