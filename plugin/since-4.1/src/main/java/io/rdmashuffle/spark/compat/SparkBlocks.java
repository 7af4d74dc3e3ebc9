// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.compat;

import org.apache.spark.shuffle.IndexShuffleBlockResolver;

/** Spark's own answers, from its shuffle files. */
public interface SparkBlocks extends ShuffleBlocks {
    /** Returns the resolver, for members that all Spark versions share. */
    IndexShuffleBlockResolver resolver();
}
