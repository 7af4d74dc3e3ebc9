// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmashuffle.bench.Ratio;
import io.rdmashuffle.bench.memory.HeapSearch.Found;
import io.rdmashuffle.harness.cli.TextTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Everything that a run of the bench found out.
 *
 * @param settings under which it did, by name
 */
record MemoryReport(Map<String, Object> settings, List<JobResult> results) {
    private static final int REASON_LENGTH = 60;

    MemoryReport {
        results = List.copyOf(results);
    }

    /** Returns whether there is a ratio of every job. */
    boolean isComplete() {
        return results.stream().allMatch(result -> result.ratio().isPresent());
    }

    /** Writes the table. */
    String render() {
        StringBuilder text = new StringBuilder(new TextTable<JobResult>()
                .text("job", result -> result.job().label())
                .text("operators", result -> result.job().description())
                .number("sort MB", result -> megabytes(result.sort()))
                .number("ours MB", result -> megabytes(result.ours()))
                .number("ours/sort", result -> Ratio.format(result.ratio()))
                .text("goal", result -> result.meetsGoal() ? "met" : "MISSED")
                .text("less fails, sort", result -> reason(result.sort().failureBelow()))
                .text("less fails, ours", result -> reason(result.ours().failureBelow()))
                .render(results));
        text.append("\nMB: the smallest executor heap with which the job completed ")
                .append(settings.get("repeats"))
                .append(" times in a row, in steps of 4 percent; goal: ours at most ")
                .append(JobResult.GOAL)
                .append(" of sort shuffle's");
        results.stream()
                .filter(result -> !result.error().isEmpty())
                .forEach(result -> text.append('\n')
                        .append(result.job().label())
                        .append(" FAILED: ")
                        .append(result.error()));
        return text.toString();
    }

    private static String megabytes(Found found) {
        OptionalInt smallest = found.smallestMb();
        return smallest.isPresent() ? Integer.toString(smallest.getAsInt()) : "-";
    }

    /** Extracts the failure from Spark's message. */
    static String reason(String failure) {
        if (failure.contains("OutOfMemoryError: Java heap space")) {
            return "Java heap space";
        }
        if (failure.contains("UNABLE_TO_ACQUIRE_MEMORY") || failure.contains("SparkOutOfMemoryError")) {
            return "no execution memory";
        }
        if (failure.contains("ExecutorLostFailure") || failure.contains("Command exited with code")) {
            return "executor lost";
        }
        return failure.length() <= REASON_LENGTH ? failure : failure.substring(0, REASON_LENGTH - 3) + "...";
    }

    void writeJson(Path file) throws IOException {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("bench", "memory");
        json.put("settings", settings);
        json.put("cases", results.stream().map(MemoryReport::json).toList());
        Files.writeString(file, mapper.writeValueAsString(json) + "\n");
    }

    private static Map<String, @Nullable Object> json(JobResult result) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("name", result.job().label());
        json.put("error", result.error());
        json.put("sortMb", orNull(result.sort()));
        json.put("oursMb", orNull(result.ours()));
        json.put("ratio", result.ratio().isPresent() ? (Object) result.ratio().getAsDouble() : null);
        json.put("meetsGoal", result.meetsGoal());
        json.put("sortAttempts", result.sort().attempts());
        json.put("oursAttempts", result.ours().attempts());
        return json;
    }

    private static @Nullable Object orNull(Found found) {
        return found.smallestMb().isPresent() ? (Object) found.smallestMb().getAsInt() : null;
    }
}
