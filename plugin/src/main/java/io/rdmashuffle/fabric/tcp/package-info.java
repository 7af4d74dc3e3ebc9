// SPDX-License-Identifier: Apache-2.0
/**
 * Fabric that reads peers' memory over TCP, for networks without RDMA. Executors use it in the mode {@code tcp}.
 *
 * <p>A reader sends ranges of regions and receives the bytes straight into its leases ({@link
 * io.rdmashuffle.fabric.tcp.ReadConnection}); the owner's selector threads send the bytes from where they lie ({@link
 * io.rdmashuffle.fabric.tcp.ServedConnection}, whose requests are checked in {@link
 * io.rdmashuffle.fabric.tcp.RequestBuffer}). Unlike with RDMA, the owner's CPU takes part, but none of its tasks
 * and none of Spark's threads do. {@link io.rdmashuffle.fabric.tcp.TcpListener} accepts connections and
 * decides in {@code judge} which are refused. {@link io.rdmashuffle.fabric.tcp.Frames} is the protocol and {@link
 * io.rdmashuffle.fabric.tcp.TcpHandshake} its authentication.
 *
 * <p>May use {@code ffi}, {@code fabric}, {@code memory}, {@code memory.disk}, {@code memory.slice} and SLF4J. Must
 * never know Spark or another provider.
 */
@NullMarked
package io.rdmashuffle.fabric.tcp;

import org.jspecify.annotations.NullMarked;
