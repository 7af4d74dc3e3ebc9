// SPDX-License-Identifier: Apache-2.0
/**
 * The ports of this machine as the verbs fabric uses them: devices, the pool's regions registered with them, and
 * registered memory for control messages.
 *
 * <p>What both the control thread and the data threads need. May use {@code io.rdmashuffle.fabric},
 * {@code io.rdmashuffle.ffi}, {@code io.rdmashuffle.verbs}, {@code io.rdmashuffle.conf},
 * {@code io.rdmashuffle.memory}, {@code io.rdmashuffle.memory.slice} and SLF4J. Must never start a thread, wait, or
 * know how connections are made and reads are posted.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs.device;

import org.jspecify.annotations.NullMarked;
