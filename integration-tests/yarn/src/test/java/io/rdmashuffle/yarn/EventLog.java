// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Executors, stages and tasks in an application's event log so far.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param added executors that came
 * @param removed executors that went, with Spark's reason
 * @param stagesRunAgain stages that were submitted more than once
 * @param mapTasks ids of map tasks that have ended
 * @param failures of tasks, as Spark names their reasons
 */
record EventLog(
        Set<String> added,
        Map<String, String> removed,
        Set<Long> stagesRunAgain,
        Set<Long> mapTasks,
        List<String> failures) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Returns configuration that writes a log as this reads it. */
    static Map<String, String> conf(Path folder) {
        return Map.of(
                "spark.eventLog.enabled", "true",
                "spark.eventLog.dir", folder.toUri().toString(),
                "spark.eventLog.rolling.enabled", "false",
                "spark.eventLog.compress", "false");
    }

    /** Reads the log of the only application that has one in a folder. */
    static EventLog read(Path folder) throws IOException {
        List<Path> logs;
        try (Stream<Path> files = Files.list(folder)) {
            logs = files.filter(file -> !file.getFileName().toString().startsWith("."))
                    .toList();
        }
        if (logs.size() != 1) {
            throw new IOException("not one event log in " + folder + " but " + logs);
        }
        EventLog log = new EventLog(
                new LinkedHashSet<>(),
                new LinkedHashMap<>(),
                new LinkedHashSet<>(),
                new LinkedHashSet<>(),
                new ArrayList<>());
        String text = Files.readString(logs.get(0));
        // The last line may be one that is being written.
        text.substring(0, text.lastIndexOf('\n') + 1).lines().forEach(log::add);
        return log;
    }

    private void add(String line) {
        JsonNode event;
        try {
            event = JSON.readTree(line);
        } catch (IOException e) {
            throw new IllegalStateException("no event: " + line, e);
        }
        switch (event.path("Event").asText()) {
            case "SparkListenerExecutorAdded" ->
                added.add(event.path("Executor ID").asText());
            case "SparkListenerExecutorRemoved" ->
                removed.put(
                        event.path("Executor ID").asText(),
                        event.path("Removed Reason").asText());
            case "SparkListenerStageSubmitted" -> {
                JsonNode stage = event.path("Stage Info");
                if (stage.path("Stage Attempt ID").asInt() > 0) {
                    stagesRunAgain.add(stage.path("Stage ID").asLong());
                }
            }
            case "SparkListenerTaskEnd" -> {
                if (event.path("Task Type").asText().equals("ShuffleMapTask")) {
                    mapTasks.add(event.path("Task Info").path("Task ID").asLong());
                }
                String reason = event.path("Task End Reason").path("Reason").asText();
                if (!reason.equals("Success")) {
                    failures.add(reason);
                }
            }
            default -> {
                // Nothing of executors, stages or tasks.
            }
        }
    }

    /** Returns the executors that live. */
    Set<String> present() {
        Set<String> present = new LinkedHashSet<>(added);
        present.removeAll(removed.keySet());
        return present;
    }
}
