// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryVerdict;
import io.rdmashuffle.demo.QueryWork.Faults;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToLongFunction;

/**
 * Result of all rounds of one query. Rounds from before a repetition count too.
 *
 * @param rounds at least one
 */
record QueryResult(String name, List<QueryRound> rounds) {
    private static final double MILLIS = 1_000;

    QueryResult {
        rounds = List.copyOf(rounds);
    }

    /** Returns the result with more rounds. */
    QueryResult with(List<QueryRound> more) {
        List<QueryRound> all = new ArrayList<>(rounds);
        all.addAll(more);
        return new QueryResult(name, all);
    }

    /** Returns whether another round can add to the result: not after a failure. */
    boolean isWorthRepeating() {
        return rounds.stream().allMatch(QueryRound::isWorthRepeating);
    }

    /** Returns the first verdict that is not equality, else that of the first round. */
    QueryVerdict verdict() {
        return rounds.stream()
                .map(QueryRound::verdict)
                .filter(verdict -> !verdict.equal())
                .findFirst()
                .orElse(rounds.get(0).verdict());
    }

    /** Returns whether a configuration came to its end in every round. */
    boolean has(Configuration configuration) {
        return rounds.stream().allMatch(round -> round.has(configuration));
    }

    /** Returns the configuration of sort shuffle with the least median of all rounds; nothing unless rows are equal. */
    Optional<Configuration> fastestSort() {
        return verdict().equal()
                ? Configuration.SORT.stream()
                        .filter(this::has)
                        .min(Comparator.comparingDouble(sort -> seconds(sort).median()))
                : Optional.empty();
    }

    /** Returns the configuration whose rows, tasks and bytes ours is held against: the first that compresses. */
    Optional<Configuration> reference() {
        return Configuration.SORT.stream()
                .filter(sort -> sort.compresses() && has(sort))
                .findFirst();
    }

    Spread seconds(Configuration configuration) {
        return figure(configuration, QueryReply::millis).dividedBy(MILLIS);
    }

    Spread figure(Configuration configuration, ToLongFunction<QueryReply> figure) {
        return Spread.of(figures(configuration, figure));
    }

    List<Long> figures(Configuration configuration, ToLongFunction<QueryReply> figure) {
        return rounds.stream()
                .map(round -> figure.applyAsLong(round.of(configuration)))
                .toList();
    }

    /** Returns sort shuffle's time over ours, round by round; nothing unless rows are equal in all rounds. */
    Optional<Spread> ratio(Configuration sort) {
        return spread(ratios(sort, QueryReply::millis));
    }

    /** Returns the ratio that a query is judged by: against the fastest of the same run, the median of all rounds. */
    Optional<Spread> ratio() {
        return fastestSort().flatMap(this::ratio);
    }

    /** Returns the same for the CPU time of the executors. */
    Optional<Spread> cpuRatio() {
        return fastestSort().flatMap(sort -> spread(ratios(sort, QueryReply::cpuMillis)));
    }

    /** Returns the ratio of one round; nothing where there was no such round. */
    OptionalDouble ratioOfRound(int round) {
        Optional<Configuration> fastest = fastestSort();
        if (fastest.isEmpty() || round >= rounds.size()) {
            return OptionalDouble.empty();
        }
        QueryRound one = rounds.get(round);
        return Ratio.of((double) one.of(fastest.get()).millis(), (double)
                one.of(Configuration.OURS).millis());
    }

    private List<Double> ratios(Configuration sort, ToLongFunction<QueryReply> figure) {
        return verdict().equal() && has(sort)
                ? Ratio.ofRounds(figures(sort, figure), figures(Configuration.OURS, figure))
                : List.of();
    }

    private static Optional<Spread> spread(List<Double> ratios) {
        return ratios.isEmpty() ? Optional.empty() : Optional.of(Spread.of(ratios));
    }

    /** Returns whether the median of all rounds is below a ratio. */
    boolean isBelow(double ratio) {
        return ratio().filter(spread -> spread.median() < ratio).isPresent();
    }

    /** Returns whether rounds lie on both sides of a ratio, so that more of them may tell. */
    boolean isUnclear(double ratio) {
        return ratio().filter(spread -> spread.min() < ratio && spread.max() >= ratio)
                .isPresent();
    }

    /** Returns the tasks that read a shuffle, the median of all rounds. */
    double reduceTasks(Configuration configuration) {
        return figure(configuration, reply -> reply.work().reduceTasks()).median();
    }

    /** Returns what tasks read from shuffles as it lay there. */
    long bytesRead(Configuration configuration) {
        return (long) figure(configuration, QueryReply::shuffleReadBytes).median();
    }

    /** Returns what tasks wrote to shuffles as it lies there. */
    long bytesWritten(Configuration configuration) {
        return (long) figure(configuration, reply -> reply.work().shuffleWrittenBytes())
                .median();
    }

    /** Returns a count of faults, the sum of all rounds. */
    long faults(Configuration configuration, ToLongFunction<Faults> count) {
        return figures(configuration, reply -> count.applyAsLong(reply.work().faults())).stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    /** Returns what the executors' processes held after the query, each page once. */
    long memoryBytes(Configuration configuration) {
        return (long) figure(configuration, reply -> reply.work().memoryBytes()).median();
    }

    /** Returns the failures of the last round with their causes; empty if all runs ended well. */
    String errors() {
        return rounds.get(rounds.size() - 1).errors();
    }
}
