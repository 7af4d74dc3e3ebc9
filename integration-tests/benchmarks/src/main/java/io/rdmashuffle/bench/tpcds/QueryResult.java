// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryComparison;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * What all rounds of one query came to.
 *
 * @param rounds at least one
 */
record QueryResult(String name, List<QueryComparison> rounds) {
    private static final double MILLIS = 1_000;

    QueryResult {
        rounds = List.copyOf(rounds);
    }

    /** Returns the result with more rounds. */
    QueryResult with(List<QueryComparison> more) {
        List<QueryComparison> all = new ArrayList<>(rounds);
        all.addAll(more);
        return new QueryResult(name, all);
    }

    /** Returns the first verdict that is not equality, else that of the first round. */
    QueryVerdict verdict() {
        return rounds.stream()
                .map(QueryComparison::verdict)
                .filter(verdict -> !verdict.equal())
                .findFirst()
                .orElse(rounds.get(0).verdict());
    }

    Spread sortSeconds() {
        return spread(QueryComparison::sort, QueryReply::millis);
    }

    Spread ourSeconds() {
        return spread(QueryComparison::ours, QueryReply::millis);
    }

    /** Returns sort shuffle's median over ours; nothing unless all results are equal. */
    OptionalDouble totalRatio() {
        return verdict().equal() ? Ratio.of(sortSeconds().median(), ourSeconds().median()) : OptionalDouble.empty();
    }

    /** Returns the same for the processor time of the executors. */
    OptionalDouble cpuRatio() {
        return verdict().equal()
                ? Ratio.of(sortCpuSeconds().median(), ourCpuSeconds().median())
                : OptionalDouble.empty();
    }

    Spread sortCpuSeconds() {
        return spread(QueryComparison::sort, QueryReply::cpuMillis);
    }

    Spread ourCpuSeconds() {
        return spread(QueryComparison::ours, QueryReply::cpuMillis);
    }

    long shuffleReadBytes() {
        return rounds.get(0).sort().shuffleReadBytes();
    }

    boolean isBelow(double ratio) {
        OptionalDouble total = totalRatio();
        return total.isPresent() && total.getAsDouble() < ratio;
    }

    private Spread spread(Function<QueryComparison, QueryReply> side, ToLongFunction<QueryReply> figure) {
        return Spread.of(rounds.stream()
                        .map(round -> figure.applyAsLong(side.apply(round)))
                        .toList())
                .dividedBy(MILLIS);
    }
}
