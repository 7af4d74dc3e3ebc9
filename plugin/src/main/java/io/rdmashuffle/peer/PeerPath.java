// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.peer;

import io.rdmashuffle.directory.RemoteDirectory;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.store.ShuffleCounter;

/**
 * One-sided path to a peer's map outputs.
 *
 * @param executorId whose outputs
 * @param peer its memory
 * @param directory directory of that memory
 * @param fabric name of the fabric that reaches it
 * @param counter counter of bytes read on this path
 */
public record PeerPath(
        String executorId, Peer peer, RemoteDirectory directory, String fabric, ShuffleCounter counter) {}
