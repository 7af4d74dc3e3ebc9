// SPDX-License-Identifier: Apache-2.0
/**
 * The control side of the verbs fabric: connections are made, accepted and ended here, and peers' questions answered.
 *
 * <p>All of it runs on one control thread, {@link io.rdmashuffle.fabric.verbs.connect.ControlThread}; data threads
 * reach it through {@link io.rdmashuffle.fabric.verbs.connect.ConnectionService}, and hear of it through {@link
 * io.rdmashuffle.fabric.verbs.connect.ConnectionListener}. May use {@code io.rdmashuffle.fabric},
 * {@code io.rdmashuffle.fabric.verbs.device}, {@code io.rdmashuffle.ffi}, {@code io.rdmashuffle.memory},
 * {@code io.rdmashuffle.text}, {@code io.rdmashuffle.verbs} and SLF4J. Must never know of reads, start a thread, or
 * wait for a peer or a disk.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs.connect;

import org.jspecify.annotations.NullMarked;
