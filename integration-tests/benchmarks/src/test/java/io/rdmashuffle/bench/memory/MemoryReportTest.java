// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.memory;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.bench.memory.HeapSearch.Attempt;
import io.rdmashuffle.bench.memory.HeapSearch.Found;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class MemoryReportTest {
    private static Found found(int heapMb, String failureBelow) {
        return new Found(
                OptionalInt.of(heapMb),
                List.of(
                        new Attempt(heapMb - 9, false, 1_000, "Java heap space, lower"),
                        new Attempt(heapMb - 1, false, 1_000, failureBelow),
                        new Attempt(heapMb, true, 2_000, "")));
    }

    private final MemoryReport report = new MemoryReport(
            Map.of("repeats", 3),
            List.of(
                    new JobResult(
                            MemoryJob.WINDOW,
                            found(100, "Lost task 0.0: java.lang.OutOfMemoryError: Java heap space"),
                            found(105, "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes"),
                            ""),
                    new JobResult(
                            MemoryJob.JOIN,
                            found(100, "ExecutorLostFailure (executor 0 exited"),
                            found(106, "x"),
                            "")));

    @Test
    void aRatioAboveTheGoalIsMarked() {
        assertThat(report.isComplete()).isTrue();
        assertThat(report.render().lines().toList())
                .anySatisfy(line -> assertThat(line)
                        .contains("window-200", "100", "105", "1.05", "met", "Java heap space", "no execution memory"))
                .anySatisfy(line ->
                        assertThat(line).contains("sort-merge-join-200", "106", "1.06", "MISSED", "executor lost"))
                .anySatisfy(line -> assertThat(line).contains("3 times in a row"));
    }

    @Test
    void aSearchThatFoundNothingHasNoRatio() {
        MemoryReport failed = new MemoryReport(
                Map.of("repeats", 3), List.of(JobResult.failed(MemoryJob.KRYO, "Spark did not start")));
        assertThat(failed.isComplete()).isFalse();
        assertThat(failed.render())
                .contains("kryo-rdd-400 FAILED: Spark did not start")
                .contains("MISSED");
    }

    @Test
    void longReasonsAreCut() {
        assertThat(MemoryReport.reason("x".repeat(100))).hasSize(60).endsWith("...");
        assertThat(MemoryReport.reason("not done after 60 s")).isEqualTo("not done after 60 s");
    }

    @Test
    void jsonHasAllAttempts(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("report.json");
        report.writeJson(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        assertThat(json.at("/bench").asText()).isEqualTo("memory");
        assertThat(json.at("/cases/0/name").asText()).isEqualTo("window-200");
        assertThat(json.at("/cases/0/oursMb").asInt()).isEqualTo(105);
        assertThat(json.at("/cases/1/meetsGoal").asBoolean()).isFalse();
        assertThat(json.at("/cases/1/sortAttempts")).hasSize(3);
        assertThat(json.at("/cases/1/sortAttempts/2/heapMb").asInt()).isEqualTo(100);
    }
}
