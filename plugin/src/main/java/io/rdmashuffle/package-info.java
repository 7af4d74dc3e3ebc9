// SPDX-License-Identifier: Apache-2.0
/**
 * The plugin, from the class that Spark loads down to the memory that outputs lie in.
 *
 * <ul>
 *   <li>{@code spark} is the shuffle manager; below it {@code spark.driver}, {@code spark.executor}, {@code spark.rpc},
 *       {@code spark.metrics}, {@code spark.ui}, and in a module for each version of Spark {@code spark.compat}
 *   <li>{@code shuffle} turns records into map outputs ({@code write}), blocks into records ({@code read}), answers
 *       Spark's block transfer ({@code serve}) and moves outputs of executors that leave ({@code migrate}); {@code
 *       shuffle.format} defines how records lie in a block
 *   <li>{@code store} puts this executor's map outputs into the pool and publishes them
 *   <li>{@code peer} chooses a path to each other executor
 *   <li>{@code directory} finds map outputs, here and in a peer's memory
 *   <li>{@code registry} knows who takes part and at which addresses
 *   <li>{@code fabric} is the interface of transports; {@code fabric.shm}, {@code fabric.tcp} and {@code fabric.verbs}
 *       implement it
 *   <li>{@code memory} is the pool, {@code memory.disk} its disk tier, {@code memory.host} what the host allows
 *   <li>{@code conf} has every setting
 *   <li>{@code doctor} checks a host or a cluster; {@code main} starts it
 *   <li>{@code lifecycle} and {@code text} are small tools; {@code verbs} and {@code ffi}, in the module native-verbs,
 *       call libibverbs and librdmacm
 * </ul>
 *
 * <p>May use nothing, since there are no classes here.
 */
@NullMarked
package io.rdmashuffle;

import org.jspecify.annotations.NullMarked;
