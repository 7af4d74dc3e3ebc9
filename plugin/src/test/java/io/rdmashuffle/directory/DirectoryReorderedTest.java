// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReorderingPeer;

/** A record is never taken for whole because of the order in which its bytes arrive. */
class DirectoryReorderedTest extends DirectoryContract {
    DirectoryReorderedTest() {
        super(false);
    }

    @Override
    Peer over(Peer peer, Node reader) {
        return ReorderingPeer.over(peer, reader.pool(), 47);
    }
}
