// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import org.apache.spark.ShuffleSuite;

/**
 * The tests of Spark's {@code ShuffleSuite} that look at files ({@link FullPoolTests}): what is in them, and what
 * happens when they go, is as Spark wants it.
 */
public final class FullPoolShuffleSuite extends ShuffleSuite {
    /** Called by ScalaTest. */
    public FullPoolShuffleSuite() {}
}
