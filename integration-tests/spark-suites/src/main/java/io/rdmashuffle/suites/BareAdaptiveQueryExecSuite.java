// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's {@code AdaptiveQueryExecSuite}, but for tests that run with blocks as Spark's streams make them. */
public final class BareAdaptiveQueryExecSuite extends AdaptiveQueryExecSuite {
    /** Called by ScalaTest. */
    public BareAdaptiveQueryExecSuite() {}

    /** Returns what is reported as ignored, "(excluded)". Called before any field of this class is there. */
    @Override
    public Seq<String> excluded() {
        return CollectionConverters.asScala(BlockSizeTests.OF_ADAPTIVE_QUERY_EXEC_SUITE)
                .toSeq();
    }
}
