// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.suites;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Events of a suite, a line of JSON each, so that what happened before a crash or a time limit is known.
 *
 * <p><b>Threading:</b> one writer process whose threads take turns; readers at any time, who see whole lines only.
 *
 * @param path the file
 */
record EventFile(Path path) {
    private static final String PROPERTY = "rdmashuffle.suites.events";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Returns the file that the command named for this JVM. */
    static EventFile ofThisProcess() {
        String named = System.getProperty(PROPERTY);
        if (named == null) {
            throw new IllegalStateException("-D" + PROPERTY + " is not set; run suites with bin/spark-suites");
        }
        return new EventFile(Path.of(named));
    }

    /** Returns the JVM option with this file. */
    String option() {
        return "-D" + PROPERTY + "=" + path;
    }

    /** Adds an event; it is in the file when this returns. */
    void add(SuiteEvent event) {
        synchronized (EventFile.class) {
            try {
                Files.writeString(
                        path,
                        JSON.writeValueAsString(event) + "\n",
                        StandardOpenOption.CREATE,
                        StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new UncheckedIOException("cannot write to " + path, e);
            }
        }
    }

    /** Reads all events; none if the file is not there. */
    List<SuiteEvent> read() throws IOException {
        if (!Files.exists(path)) {
            return List.of();
        }
        String text = Files.readString(path);
        List<SuiteEvent> events = new ArrayList<>();
        // The last line may be under way.
        for (String line : text.substring(0, text.lastIndexOf('\n') + 1).split("\n", -1)) {
            if (!line.isEmpty()) {
                events.add(parse(line));
            }
        }
        return events;
    }

    private static SuiteEvent parse(String line) throws JsonProcessingException {
        return JSON.readValue(line, SuiteEvent.class);
    }
}
