// SPDX-License-Identifier: Apache-2.0
/**
 * Membership of the application, with fabric addresses: the driver's registry and every executor's view of it. Messages
 * travel through {@link io.rdmashuffle.registry.DriverChannel} and {@link io.rdmashuffle.registry.MemberChannel}, which
 * {@code io.rdmashuffle.spark.driver} and {@code io.rdmashuffle.spark.executor} implement.
 *
 * <p>A member is an executor that has announced itself. The driver's side is {@link
 * io.rdmashuffle.registry.RegistryServer}, an executor's {@link io.rdmashuffle.registry.RegistryAgent}. When
 * Spark removes an executor, {@code spark.driver.DriverEndpoint} calls {@link
 * io.rdmashuffle.registry.RegistryServer#memberRemoved}, which removes its registration. The next flush notifies the
 * other members. Each drops it from its {@link io.rdmashuffle.registry.MembershipView} and notifies its {@link
 * io.rdmashuffle.registry.MembershipListener}: {@code peer.PeerPaths#changed} ends the path to the executor and what
 * the executor reads.
 *
 * <p>May use {@code conf}, Kryo and SLF4J. Must never import Spark, interpret addresses, own a thread, or wait without
 * a deadline.
 */
@NullMarked
package io.rdmashuffle.registry;

import org.jspecify.annotations.NullMarked;
