// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import io.rdmashuffle.fabric.verbs.device.ControlMemory;
import io.rdmashuffle.fabric.verbs.device.StagingMessages.Answer;
import io.rdmashuffle.verbs.QueuePair;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * A peer that may ask: the queue pair that it reads through, where responses to it are written, and which are to be
 * sent to it. One is under way at a time.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link QueryResponder}.
 */
final class Querier {
    /** Only the last query counts. */
    private static final int NONE = -1;

    private final QueuePair pair;
    private final ControlMemory.Slot slot;
    private final Deque<Answer> answers = new ArrayDeque<>();
    private int firstRegion = NONE;
    private boolean responding;
    private @Nullable StagedRequests staged;

    Querier(QueuePair pair, ControlMemory.Slot slot) {
        this.pair = pair;
        this.slot = slot;
    }

    QueuePair pair() {
        return pair;
    }

    ControlMemory.Slot slot() {
        return slot;
    }

    /** Has a query about regions answered. */
    void addQuery(int first) {
        firstRegion = first;
    }

    /** Takes the query that is to be answered, {@value #NONE} if there is none. */
    int takeQuery() {
        int first = firstRegion;
        firstRegion = NONE;
        return first;
    }

    /** Has an answer sent; there are never more than the peer has questions, whose number is bounded. */
    void addAnswer(Answer answer) {
        if (answers.size() < 2 * StagedRequests.MAX_REQUESTS) {
            answers.add(answer);
        }
    }

    /** Takes the next answer that is to be sent; null if there is none. */
    @Nullable
    Answer takeAnswer() {
        return answers.poll();
    }

    /** Claims the slot for a response; false while one is under way. */
    boolean claim() {
        boolean free = !responding;
        responding = true;
        return free;
    }

    /** Takes note that no response is under way. */
    void unclaim() {
        responding = false;
    }

    /** Returns what the peer has asked to be staged; null for one that has not. */
    @Nullable
    StagedRequests staged() {
        return staged;
    }

    void staged(StagedRequests requests) {
        staged = requests;
    }
}
