// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Regions that a rail has asked peers for, and the reads that wait for the answers.
 *
 * <p><b>Threading:</b> the thread of the rail.
 */
final class RailQuestions {
    private final Map<Long, Question> byNumber = new HashMap<>();
    private final Map<RailPeer, Map<Integer, Question>> byPeer = new HashMap<>();
    /** Not from 0: the answer to another process that had this address must not fit. */
    private long next = ThreadLocalRandom.current().nextLong();

    /** A region of a peer. */
    static final class Question {
        private final RailPeer peer;
        private final int regionId;
        private final List<OfiRead> reads = new ArrayList<>();
        private final long number;
        private long sentNanos;
        private boolean isSent;

        private Question(long number, RailPeer peer, int regionId) {
            this.number = number;
            this.peer = peer;
            this.regionId = regionId;
        }

        RailPeer peer() {
            return peer;
        }

        int regionId() {
            return regionId;
        }

        /** Returns the number of its queries. */
        long number() {
            return number;
        }

        /** Starts the time in which the answer must arrive. */
        void sent() {
            isSent = true;
            sentNanos = System.nanoTime();
        }
    }

    /** Lets a read wait for a region; returns a question that must be sent, or null if one is under way. */
    @Nullable
    Question await(RailPeer peer, int regionId, OfiRead read) {
        Map<Integer, Question> ofPeer = byPeer.computeIfAbsent(peer, unused -> new HashMap<>());
        Question known = ofPeer.get(regionId);
        Question question = known == null ? new Question(next++, peer, regionId) : known;
        question.reads.add(read);
        if (known != null) {
            return null;
        }
        ofPeer.put(regionId, question);
        byNumber.put(question.number, question);
        return question;
    }

    /** Returns the question with a number; null if there is none. */
    @Nullable
    Question find(long number) {
        return byNumber.get(number);
    }

    /** Ends a question; returns the reads that waited and have not ended. */
    List<OfiRead> end(Question question) {
        byNumber.remove(question.number);
        Map<Integer, Question> ofPeer = byPeer.get(question.peer);
        if (ofPeer != null) {
            ofPeer.remove(question.regionId);
            if (ofPeer.isEmpty()) {
                byPeer.remove(question.peer);
            }
        }
        return question.reads.stream().filter(read -> !read.hasEnded()).toList();
    }

    /**
     * Returns the questions that must be sent again, since a query or its answer may be lost. Ends questions whose
     * reads have all ended.
     */
    List<Question> overdue(long nowNanos, long patienceNanos) {
        List<Question> again = new ArrayList<>();
        for (Question question : List.copyOf(byNumber.values())) {
            question.reads.removeIf(OfiRead::hasEnded);
            if (question.reads.isEmpty()) {
                List<OfiRead> none = end(question);
                assert none.isEmpty();
            } else if (question.isSent && nowNanos - question.sentNanos > patienceNanos) {
                question.isSent = false;
                again.add(question);
            }
        }
        return again;
    }
}
