// SPDX-License-Identifier: Apache-2.0
/**
 * Who takes part in the application and at which fabric addresses: the driver's registry and every executor's view of
 * it. Messages travel through {@link io.rdmashuffle.registry.DriverChannel} and
 * {@link io.rdmashuffle.registry.MemberChannel}, which {@code io.rdmashuffle.spark.driver} and
 * {@code io.rdmashuffle.spark.executor} implement.
 *
 * <p>May use {@code conf}, Kryo and SLF4J. Must never import Spark, know what is inside an address, own a thread, or
 * wait without a deadline.
 */
@NullMarked
package io.rdmashuffle.registry;

import org.jspecify.annotations.NullMarked;
