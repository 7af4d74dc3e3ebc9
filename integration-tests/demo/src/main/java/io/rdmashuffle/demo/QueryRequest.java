// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

/**
 * Request to a {@link QueryServer}, one JSON object per line.
 *
 * @param operation what to do
 * @param query the query's name, or empty
 * @param resultFile where to write the rows, or empty to drop them
 */
record QueryRequest(Operation operation, String query, String resultFile) {
    enum Operation {
        /** Runs a query as it is. */
        RUN,
        /** Runs a query without the LIMIT at its end, so that ties decide nothing. */
        RUN_UNLIMITED,
        /** Drops shuffles of past queries and reports remaining resources. */
        DRAIN
    }
}
