package io.rdmashuffle.it.suites;

import org.apache.spark.ShuffleSuite;

/** Spark's {@code ShuffleSuite}, which is abstract, and nothing more: {@code bin/spark-suites} chooses the manager. */
public final class PlainShuffleSuite extends ShuffleSuite {}
