// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import java.util.Map;

/**
 * Reply of a {@link QueryServer}, one JSON object per line.
 *
 * @param query the query's name, or empty
 * @param rows number of rows of the result
 * @param millis wall clock time from the query's text to the last row in the driver
 * @param cpuMillis CPU time of the executors meanwhile, all threads
 * @param shuffleReadBytes bytes that tasks read through shuffles, as Spark's own task metrics count them
 * @param counters what the shuffle manager counted during the query, by label; empty with sort shuffle
 * @param work what its tasks did
 * @param error why it failed, or empty
 */
public record QueryReply(
        String query,
        long rows,
        long millis,
        long cpuMillis,
        long shuffleReadBytes,
        Map<String, Long> counters,
        QueryWork work,
        String error) {
    public QueryReply {
        counters = Map.copyOf(counters);
    }

    static QueryReply failed(String query, String error) {
        return new QueryReply(query, 0, 0, 0, 0, Map.of(), QueryWork.NONE, error);
    }

    /** Returns whether the query ran to its end. */
    public boolean ok() {
        return error.isEmpty();
    }
}
