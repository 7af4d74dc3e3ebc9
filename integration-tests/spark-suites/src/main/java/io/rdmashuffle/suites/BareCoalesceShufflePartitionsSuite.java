// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.sql.execution.CoalesceShufflePartitionsSuite;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's {@code CoalesceShufflePartitionsSuite}, but for tests that run with blocks as Spark's streams make them. */
public final class BareCoalesceShufflePartitionsSuite extends CoalesceShufflePartitionsSuite {
    /** Called by ScalaTest. */
    public BareCoalesceShufflePartitionsSuite() {}

    /** Returns what is reported as ignored, "(excluded)". Called before any field of this class is there. */
    @Override
    public Seq<String> excluded() {
        return CollectionConverters.asScala(BlockSizeTests.OF_COALESCE_SHUFFLE_PARTITIONS_SUITE)
                .toSeq();
    }
}
