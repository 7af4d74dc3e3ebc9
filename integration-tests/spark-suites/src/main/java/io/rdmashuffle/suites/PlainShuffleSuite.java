// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.ShuffleSuite;

/**
 * Spark's {@code ShuffleSuite}, which is abstract.
 *
 * <p>{@code bin/spark-suites} chooses the manager.
 */
public final class PlainShuffleSuite extends ShuffleSuite {
    /** Called by ScalaTest. */
    public PlainShuffleSuite() {}
}
