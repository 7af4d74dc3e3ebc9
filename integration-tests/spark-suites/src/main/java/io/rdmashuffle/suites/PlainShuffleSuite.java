// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.ShuffleSuite;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's {@code ShuffleSuite}, which is abstract, but for one test: {@link FullPoolShuffleSuite} runs that one.
 *
 * <p>{@code bin/spark-suites} chooses the manager.
 */
public final class PlainShuffleSuite extends ShuffleSuite {
    /** Called by ScalaTest. */
    public PlainShuffleSuite() {}

    /** Returns what is reported as ignored, "(excluded)". Called before any field of this class is there. */
    @Override
    public Seq<String> excluded() {
        return CollectionConverters.asScala(java.util.List.of(FullPoolTests.COMPRESSION))
                .toSeq();
    }
}
