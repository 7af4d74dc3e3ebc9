// SPDX-License-Identifier: Apache-2.0
/**
 * The service provider interface of one-sided transport: reach a peer, read its registered memory.
 *
 * <p>A transport is a {@link io.rdmashuffle.fabric.Fabric} with its {@link io.rdmashuffle.fabric.Peer}s, in a package
 * below this one, or in another jar behind a {@link io.rdmashuffle.fabric.FabricProvider}. {@code
 * spark.executor.FabricChoice} opens the fabrics that {@code spark.shuffle.rdma.fabric.mode} and the host allow, best
 * first; {@code peer.PeerPaths} takes the first that reaches a peer.
 *
 * <p>May use {@code lifecycle}, {@code memory}, {@code memory.disk}, {@code memory.slice}, {@code text} and SLF4J. Must
 * never assume that a task of the peer takes part in a read, know what the bytes mean, or mention a native call or
 * a Spark type. Providers live in packages below this one and never import each other.
 */
@NullMarked
package io.rdmashuffle.fabric;

import org.jspecify.annotations.NullMarked;
