// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.Rail;
import io.rdmashuffle.verbs.CompletionQueue;
import java.net.InetSocketAddress;

/**
 * Both ends of a requested connection.
 *
 * @param rail this side's port
 * @param completions where the requests of the queue pair complete
 * @param address where the peer listens
 * @param peerId what messages call the peer
 * @param fabricId tells the process that is meant from another one that listens there later
 * @param lane which of this process's queue pairs to that peer it is
 */
public record ConnectionTarget(
        Rail rail, CompletionQueue completions, InetSocketAddress address, String peerId, long fabricId, int lane) {
    @Override
    public String toString() {
        return "executor " + peerId + " at " + address + " from " + rail.port();
    }
}
