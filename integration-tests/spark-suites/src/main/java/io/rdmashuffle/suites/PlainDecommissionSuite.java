// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's {@code BlockManagerDecommissionIntegrationSuite}, but for one test that runs with a full pool. */
public final class PlainDecommissionSuite extends BlockManagerDecommissionIntegrationSuite {
    /** Called by ScalaTest. */
    public PlainDecommissionSuite() {}

    /** Returns what is reported as ignored, "(excluded)". Called before any field of this class is there. */
    @Override
    public Seq<String> excluded() {
        return CollectionConverters.asScala(java.util.List.of(FullPoolTests.CLEANUP))
                .toSeq();
    }
}
