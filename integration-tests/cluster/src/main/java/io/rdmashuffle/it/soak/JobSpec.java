// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.io.Serializable;
import java.util.List;
import java.util.Random;

/**
 * A job, so that two Sparks can run the same.
 *
 * @param kind what shuffles
 * @param seed the data's
 * @param rows how many there are before the first shuffle
 * @param maps tasks that make them
 * @param partitions after the shuffle
 * @param payloadBytes most bytes of a row beside its numbers
 */
record JobSpec(Kind kind, long seed, int rows, int maps, int partitions, int payloadBytes) implements Serializable {
    private static final int MOST_BYTES = 24 << 20;

    /** Kind of a shuffle. */
    enum Kind {
        /** Partial and final aggregation with many groups. */
        AGGREGATE,
        /** Whole rows by hash. */
        REPARTITION,
        /** Whole rows, round robin. */
        ROUND_ROBIN,
        /** Sort-merge join with a key that every second row has. */
        SKEWED_JOIN,
        /** A range partitioning and a sort; the order counts. */
        ORDER_BY,
        /** Two exchanges one after the other. */
        DISTINCT_OF_JOIN,
        /** RDD with map-side combine. */
        REDUCE_BY_KEY,
        /** RDD without. */
        GROUP_BY_KEY,
        /** RDD with an ordering; the order counts. */
        SORT_BY_KEY,
        /** Aggregation with state, in micro-batches. */
        STREAMING
    }

    /** Kinds without map-side combine. */
    private static final List<Kind> WHOLE_ROWS = List.of(
            Kind.REPARTITION, Kind.ROUND_ROBIN, Kind.SKEWED_JOIN, Kind.ORDER_BY, Kind.GROUP_BY_KEY, Kind.SORT_BY_KEY);

    /**
     * Draws one.
     *
     * @param large whether it shuffles all its rows, at least 5 MB, so that they go beyond what a small pool holds in
     *     memory
     */
    static JobSpec random(Random random, boolean large) {
        List<Kind> kinds = large ? WHOLE_ROWS : List.of(Kind.values());
        Kind kind = kinds.get(random.nextInt(kinds.size()));
        int payloadBytes = large ? pick(random, 100, 1_000, 20_000) : pick(random, 0, 8, 100, 1_000, 20_000);
        int drawn = large ? pick(random, 40_000, 100_000) : pick(random, 0, 50, 5_000, 40_000, 100_000);
        int rows = Math.min(drawn, MOST_BYTES / (payloadBytes + 40));
        int maps = 1 + random.nextInt(8);
        // Either side of the bypass writer's limit of 200, and of the 2000 above which sizes become averages.
        int partitions = pick(random, 1, 3, 8, 37, 150, 230, random.nextInt(12) == 0 ? 2_100 : 12);
        return new JobSpec(kind, random.nextLong(), rows, maps, partitions, payloadBytes);
    }

    private static int pick(Random random, int... values) {
        return values[random.nextInt(values.length)];
    }
}
