/**
 * Entry points and everything that touches {@code SparkEnv}: the shuffle manager, RPC endpoints, metrics.
 *
 * <p>May use Spark and every other package of the plugin. Must never hold static state: several applications may run in
 * one virtual machine, one after another.
 */
@NullMarked
package io.rdmashuffle.spark;

import org.jspecify.annotations.NullMarked;
