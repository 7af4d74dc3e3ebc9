/**
 * Who takes part in the application and at which fabric addresses: the driver's registry and every executor's view of it.
 *
 * <p>May use the configuration, Kryo and SLF4J; messages travel through {@link io.rdmashuffle.registry.DriverChannel} and
 * {@link io.rdmashuffle.registry.MemberChannel}, which {@code io.rdmashuffle.spark} implements. Must never import Spark,
 * know what is inside an address, own a thread, or wait without a deadline.
 */
@NullMarked
package io.rdmashuffle.registry;

import org.jspecify.annotations.NullMarked;
