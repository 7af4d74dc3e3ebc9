// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.util.List;
import java.util.Map;

/** Transport of an application of a soak, as far as it is settled. */
enum Way {
    /** Uncompressed records, read in place. */
    IN_PLACE("direct in place"),
    /** Uncompressed records, copied ahead of tasks. */
    COPIED("copied"),
    /** Uncompressed records in the disk tier: an executor's own are read there, others are copied and count as both. */
    ON_DISK("from the disk tier"),
    /** Any that there is: Spark's block transfer, streams, compressed and encrypted blocks. */
    DRAWN("drawn");

    /** Paths that need a share of the bytes. */
    static final List<Way> OWED = List.of(IN_PLACE, COPIED, ON_DISK);

    /** One of this many applications has a random path. */
    private static final int DRAWN_EVERY = 8;

    private final String label;

    Way(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    /**
     * Returns the way of an application: the one that has had the smallest share, so that faults, chance and sizes of
     * jobs make up for one another; of equal ones, each in its turn.
     *
     * @param number the application's, from 0
     * @param shares of the bytes so far; one that is missing is 0
     */
    static Way of(int number, Map<Way, Double> shares) {
        if (number % DRAWN_EVERY == DRAWN_EVERY - 1) {
            return DRAWN;
        }
        Way least = OWED.get(number % OWED.size());
        for (int i = 1; i < OWED.size(); i++) {
            Way other = OWED.get((number + i) % OWED.size());
            if (shares.getOrDefault(other, 0.0) < shares.getOrDefault(least, 0.0)) {
                least = other;
            }
        }
        return least;
    }

    /** Returns whether a job is large, so that bytes go the application's way; {@code third} is 0, 1 or 2. */
    boolean isLarge(int third) {
        return this != DRAWN && third > 0;
    }
}
