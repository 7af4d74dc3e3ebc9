// SPDX-License-Identifier: Apache-2.0
/**
 * Control side of the verbs fabric: connects, accepts and ends queue pairs, and answers peers' queries.
 *
 * <p>All of it runs on one control thread, {@link io.rdmashuffle.fabric.verbs.connect.ControlThread}; data threads
 * reach it through {@link io.rdmashuffle.fabric.verbs.connect.ConnectionService}, and receive results through
 * {@link io.rdmashuffle.fabric.verbs.connect.ConnectionListener}. May use {@code io.rdmashuffle.fabric},
 * {@code io.rdmashuffle.fabric.verbs.device}, {@code io.rdmashuffle.ffi}, {@code io.rdmashuffle.memory},
 * {@code io.rdmashuffle.text}, {@code io.rdmashuffle.verbs} and SLF4J. Must not depend on reads, start a thread, or
 * wait for a peer or a disk.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs.connect;

import org.jspecify.annotations.NullMarked;
