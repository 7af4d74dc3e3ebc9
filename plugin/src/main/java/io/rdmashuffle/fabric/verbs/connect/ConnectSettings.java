// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.verbs.QueuePairTuning;
import java.time.Duration;

/**
 * Settings of connections.
 *
 * @param tuning what connections change of the proposed values
 * @param timeout deadline of one attempt to connect, from when it begins
 * @param initiatorDepth most READs that one queue pair has under way at the device
 * @param queueDepth most READs that one queue pair has posted
 * @param readBytes longest single READ
 * @param secret what peers must prove to know
 */
public record ConnectSettings(
        QueuePairTuning tuning, Duration timeout, int initiatorDepth, int queueDepth, int readBytes, Secret secret) {
    /** Most queue pairs that peers read through: peers times lanes; an executor serves all others. */
    static final int MAX_SERVED = 1 << 14;

    /** Most staging requests that peers may have through these. */
    public static final int MAX_STAGED = MAX_SERVED * StagedRequests.MAX_REQUESTS;

    /** Retries of an answer while the reader has no receive posted: it posts one before it asks. */
    static final int ANSWER_RNR_RETRIES = 6;

    /**
     * Retries of a reader's SEND while this side has no receive posted: 7 means no limit. A pause of
     * this process must not tear down the connections of a fleet that meets it for the first time; a read that waits
     * for its answer has a deadline.
     */
    static final int QUESTION_RNR_RETRIES = 7;

    /** A query that finds no receive posted comes again after 20.48 ms. The connection manager would say 655 ms. */
    static final int RNR_TIMER = 22;

    /** After 0.64 ms where a READ is answered in this way too, of a page that the device has to fault in. */
    private static final int PAGING_RNR_TIMER = 12;

    private static final int MAX_RETRIES = 7;

    /** Returns after what time a served peer tries again, as the specification numbers such times. */
    static int rnrTimer(boolean pinned) {
        return pinned ? RNR_TIMER : PAGING_RNR_TIMER;
    }

    /** Returns the number of resends of a packet; by default the maximum. */
    int retries() {
        return tuning.retries() == QueuePairTuning.AS_PROPOSED ? MAX_RETRIES : tuning.retries();
    }
}
