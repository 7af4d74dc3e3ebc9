// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.QueuePair;

/**
 * A queue pair that a peer reads through.
 *
 * @param id its connection
 * @param querier the peer, as the responder knows it
 */
record ServedPair(CmId id, QueryResponder.Querier querier) {
    QueuePair pair() {
        return querier.pair();
    }
}
