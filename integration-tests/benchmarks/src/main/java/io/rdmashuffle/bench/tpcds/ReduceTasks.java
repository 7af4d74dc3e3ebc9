// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;

/**
 * How many tasks read shuffles with ours and with the sort shuffle that compresses, all queries together.
 *
 * @param queries that both ran, with equal rows
 */
record ReduceTasks(List<OfQuery> queries) {
    /** Tolerance for adaptive execution: ten percent more or fewer tasks than with sort shuffle's sizes. */
    static final double TOLERANCE = 0.1;

    /** The tasks of one query. */
    record OfQuery(String name, double sort, double ours) {
        boolean isOutside() {
            return Math.abs(ours - sort) > TOLERANCE * sort;
        }
    }

    ReduceTasks {
        queries = List.copyOf(queries);
    }

    static ReduceTasks of(List<QueryResult> results) {
        List<OfQuery> found = new ArrayList<>();
        for (QueryResult result : results) {
            if (result.verdict().equal()) {
                result.reference()
                        .ifPresent(sort -> found.add(new OfQuery(
                                result.name(), result.reduceTasks(sort), result.reduceTasks(Configuration.OURS))));
            }
        }
        return new ReduceTasks(found);
    }

    double sort() {
        return queries.stream().mapToDouble(OfQuery::sort).sum();
    }

    double ours() {
        return queries.stream().mapToDouble(OfQuery::ours).sum();
    }

    /** Returns our tasks over sort shuffle's, all queries together. */
    OptionalDouble ratio() {
        return Ratio.of(ours(), sort());
    }

    /** Returns the queries that are out of tolerance. */
    List<OfQuery> outside() {
        return queries.stream().filter(OfQuery::isOutside).toList();
    }
}
