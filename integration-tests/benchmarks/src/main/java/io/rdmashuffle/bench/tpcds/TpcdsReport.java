// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.tpcds;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.bench.Configuration;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.Spread;
import io.rdmashuffle.demo.QueryReply;
import io.rdmashuffle.demo.QueryWork.Faults;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a run of the bench found out.
 *
 * @param settings under which it did, by name
 * @param configurations who took part
 */
record TpcdsReport(Map<String, Object> settings, Set<Configuration> configurations, List<QueryResult> queries) {
    /** Minimum ratio of every query over all of its rounds; below, ours counts as slower than sort shuffle. */
    static final double GOAL = 0.97;

    private static final double MILLIS = 1_000;

    TpcdsReport {
        configurations = Set.copyOf(configurations);
        queries = List.copyOf(queries);
    }

    boolean acceptable() {
        return queries.stream().allMatch(query -> query.verdict().acceptable());
    }

    /** Returns the configurations of sort shuffle that took part, in their order. */
    List<Configuration> sorts() {
        return Configuration.SORT.stream().filter(configurations::contains).toList();
    }

    /** Returns the queries of which there is a ratio, the least first. */
    List<QueryResult> judged() {
        return queries.stream()
                .filter(query -> query.ratio().isPresent())
                .sorted(Comparator.comparingDouble(
                        query -> query.ratio().orElseThrow().median()))
                .toList();
    }

    /** Returns the geometric mean of the queries' ratios against the fastest sort shuffle of each. */
    OptionalDouble geometricMean() {
        return mean(QueryResult::ratio);
    }

    /** Returns the same against one configuration. */
    OptionalDouble geometricMean(Configuration sort) {
        return mean(query -> query.ratio(sort));
    }

    OptionalDouble cpuMean() {
        return mean(QueryResult::cpuRatio);
    }

    private OptionalDouble mean(Function<QueryResult, Optional<Spread>> ratio) {
        return Ratio.geometricMean(queries.stream()
                .flatMap(query -> ratio.apply(query).stream())
                .map(Spread::median)
                .toList());
    }

    /** Returns the geometric means of the first rounds, of the second ones and so on, as many as all queries have. */
    Optional<Spread> meanOfRounds() {
        List<QueryResult> judged = judged();
        int rounds =
                judged.stream().mapToInt(query -> query.rounds().size()).min().orElse(0);
        List<Double> means = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            int round = i;
            Ratio.geometricMean(judged.stream()
                            .flatMapToDouble(query -> query.ratioOfRound(round).stream())
                            .boxed()
                            .toList())
                    .ifPresent(means::add);
        }
        return means.isEmpty() ? Optional.empty() : Optional.of(Spread.of(means));
    }

    /** Returns the queries that miss the goal by all of their rounds, the worst first. */
    List<QueryResult> belowGoal() {
        return judged().stream().filter(query -> query.isBelow(GOAL)).toList();
    }

    /** Returns the sum of a configuration's medians, of the queries that all have run. */
    double totalSeconds(Configuration configuration) {
        return queries.stream()
                .filter(query -> configurations.stream().allMatch(query::has))
                .mapToDouble(query -> query.seconds(configuration).median())
                .sum();
    }

    /** Returns the time that a configuration's executors were there during all rounds, together. */
    double executorSeconds(Configuration configuration) {
        return queries.stream()
                        .filter(query -> query.has(configuration))
                        .flatMap(query -> query
                                .figures(configuration, reply -> reply.work().executorMillis())
                                .stream())
                        .mapToLong(Long::longValue)
                        .sum()
                / MILLIS;
    }

    /** Returns a count of faults, the sum of all queries that it has run. */
    long faults(Configuration configuration, ToLongFunction<Faults> count) {
        return queries.stream()
                .filter(query -> query.has(configuration))
                .mapToLong(query -> query.faults(configuration, count))
                .sum();
    }

    ReduceTasks reduceTasks() {
        return ReduceTasks.of(queries);
    }

    void writeJson(Path file) throws IOException {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("bench", "tpcds");
        json.put("settings", settings);
        json.put("geometricMean", Ratio.orNull(geometricMean()));
        json.put("geometricMeanOfRounds", meanOfRounds().orElse(null));
        Map<String, @Nullable Object> means = new LinkedHashMap<>();
        sorts().forEach(sort -> means.put(sort.label(), Ratio.orNull(geometricMean(sort))));
        json.put("geometricMeans", means);
        json.put("geometricMeanCpu", Ratio.orNull(cpuMean()));
        json.put("worst", judged().stream().map(QueryResult::name).findFirst().orElse(""));
        json.put("goal", GOAL);
        json.put("belowGoal", belowGoal().stream().map(QueryResult::name).toList());
        ReduceTasks tasks = reduceTasks();
        Map<String, @Nullable Object> counted = new LinkedHashMap<>();
        counted.put("sort", tasks.sort());
        counted.put("ours", tasks.ours());
        counted.put("ratio", Ratio.orNull(tasks.ratio()));
        counted.put(
                "outside",
                tasks.outside().stream().map(ReduceTasks.OfQuery::name).toList());
        json.put("reduceTasks", counted);
        Map<String, Object> totals = new LinkedHashMap<>();
        configurations.stream().sorted().forEach(each -> totals.put(each.label(), totals(each)));
        json.put("totals", totals);
        json.put("cases", queries.stream().map(this::json).toList());
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private Map<String, Object> totals(Configuration configuration) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("seconds", totalSeconds(configuration));
        json.put("executorSeconds", executorSeconds(configuration));
        json.put("executorsKilled", faults(configuration, Faults::killed));
        json.put("failedReads", faults(configuration, Faults::failedReads));
        json.put("mapTasksAgain", faults(configuration, Faults::mapTasksAgain));
        return json;
    }

    private Map<String, @Nullable Object> json(QueryResult query) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("name", query.name());
        json.put("verdict", query.verdict().name());
        json.put("equal", query.verdict().equal());
        json.put("errors", query.errors());
        json.put("fastestSort", query.fastestSort().map(Configuration::label).orElse(null));
        json.put("totalRatio", query.ratio().map(Spread::median).orElse(null));
        json.put("totalRatioOfRounds", query.ratio().orElse(null));
        // A query has many stages, and cannot run without its shuffles.
        json.put("overheadRatio", null);
        json.put("cpuRatio", query.cpuRatio().map(Spread::median).orElse(null));
        json.put("rounds", query.rounds().size());
        Map<String, Object> ran = new LinkedHashMap<>();
        for (Configuration configuration : Configuration.values()) {
            if (query.has(configuration)) {
                ran.put(configuration.label(), json(query, configuration));
            }
        }
        json.put("configurations", ran);
        return json;
    }

    private static Map<String, @Nullable Object> json(QueryResult query, Configuration configuration) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("ratio", query.ratio(configuration).orElse(null));
        json.put("seconds", query.seconds(configuration));
        json.put(
                "cpuSeconds", query.figure(configuration, QueryReply::cpuMillis).dividedBy(MILLIS));
        json.put("reduceTasks", query.reduceTasks(configuration));
        json.put("shuffleReadBytes", query.bytesRead(configuration));
        json.put("shuffleWrittenBytes", query.bytesWritten(configuration));
        json.put("memoryBytes", query.memoryBytes(configuration));
        json.put("millis", query.figures(configuration, QueryReply::millis));
        return json;
    }
}
