// SPDX-License-Identifier: Apache-2.0
/**
 * The data side of the verbs fabric: reads are posted and their completions taken here.
 *
 * <p>Each {@link io.rdmashuffle.fabric.verbs.read.DataThread} has a
 * {@link io.rdmashuffle.fabric.verbs.read.PeerReadChannel} to each peer, and all queue pairs that these read through;
 * {@link io.rdmashuffle.fabric.verbs.read.RequestPoster#postReads} hands READs to {@code QueuePair#post} of the module
 * native-verbs. May use
 * {@code io.rdmashuffle.ffi}, {@code io.rdmashuffle.memory}, {@code io.rdmashuffle.memory.slice},
 * {@code io.rdmashuffle.fabric}, {@code io.rdmashuffle.fabric.verbs.device},
 * {@code io.rdmashuffle.fabric.verbs.connect}, {@code io.rdmashuffle.verbs} and SLF4J. Must never make a connection
 * itself, start a thread, or release memory that a device may still write to.
 */
@NullMarked
package io.rdmashuffle.fabric.verbs.read;

import org.jspecify.annotations.NullMarked;
