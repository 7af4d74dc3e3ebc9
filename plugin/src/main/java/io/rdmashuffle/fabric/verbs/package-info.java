// SPDX-License-Identifier: Apache-2.0
/**
 * The fabric that reads peers' memory by RDMA READ over reliable queue pairs.
 *
 * <p>Each used port is a rail: its control thread makes and serves connections ({@code connect}); its data threads, one
 * by default, own the queue pairs of this process's reads, post them and poll their completions ({@code read}); both
 * use the port's device ({@code device}). A peer's regions are queried by SEND and read by READ, without the peer's
 * CPU. Blocks in a peer's disk tier are staged in such a region by a thread of the peer ({@code stage}). This package
 * composes them, starts their threads, and reopens a rail whose device was lost. May use {@code io.rdmashuffle.fabric},
 * {@code io.rdmashuffle.fabric.verbs.connect}, {@code io.rdmashuffle.fabric.verbs.device},
 * {@code io.rdmashuffle.fabric.verbs.read}, {@code io.rdmashuffle.fabric.verbs.stage}, {@code io.rdmashuffle.memory},
 * {@code io.rdmashuffle.memory.disk}, {@code io.rdmashuffle.conf}, {@code io.rdmashuffle.ffi},
 * {@code io.rdmashuffle.verbs} and SLF4J. Must never know Spark or another provider.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs;

import org.jspecify.annotations.NullMarked;
