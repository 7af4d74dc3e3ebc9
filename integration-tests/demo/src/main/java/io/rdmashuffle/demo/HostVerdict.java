// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The doctor's verdict on this host and an application's settings, in one line.
 *
 * <p><b>Threading:</b> one thread.
 */
final class HostVerdict {
    private static final long TIMEOUT_SECONDS = 60;

    private final Path jar;
    private final Map<String, String> conf;
    private final int executors;
    private final Path document;

    /**
     * Asks nothing yet.
     *
     * @param document is written
     */
    HostVerdict(Path jar, Map<String, String> conf, int executors, Path document) {
        this.jar = jar;
        this.conf = conf;
        this.executors = executors;
        this.document = document;
    }

    /** Returns the verdict, or that there is none: it is no part of the demo's own result. */
    String line() throws InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-jar",
                jar.toString(),
                "doctor",
                "--json",
                "--executors",
                String.valueOf(executors)));
        conf.forEach((key, value) -> {
            if (key.startsWith("spark.shuffle.")) {
                command.add("--conf");
                command.add(key + "=" + value);
            }
        });
        String more = "more: java -jar " + jar.getFileName() + " doctor";
        try {
            Process doctor = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .redirectOutput(document.toFile())
                    .start();
            if (!doctor.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                doctor.destroyForcibly();
                return "doctor: no verdict within " + TIMEOUT_SECONDS + " s; " + more;
            }
            return "doctor: "
                    + new ObjectMapper()
                            .readTree(document.toFile())
                            .path("verdict")
                            .asText("no verdict") + " " + more;
        } catch (IOException e) {
            return "doctor: no verdict (" + e.getMessage() + "); " + more;
        }
    }
}
