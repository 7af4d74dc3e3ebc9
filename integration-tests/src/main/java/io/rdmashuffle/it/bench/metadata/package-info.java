/**
 * What finding map outputs costs as clusters grow: the driver's registry, the directories and the indexes of many simulated
 * executors in one process, without Spark.
 *
 * <p>Everything simulated is the plugin's own code on pools in shared memory; only Spark's RPC is missing, in whose place
 * encoded messages are counted.
 */
@NullMarked
package io.rdmashuffle.it.bench.metadata;

import org.jspecify.annotations.NullMarked;
