// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.fabric;

import com.github.freva.asciitable.AsciiTable;
import com.github.freva.asciitable.Column;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordingFile;

/**
 * Profile of one thread, by samples of the JVM's flight recorder.
 *
 * <p>A sample in a native method stands for the call out of Java: the kernel, libibverbs, a wait.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Source:</b> jdk.jfr, events jdk.ExecutionSample and jdk.NativeMethodSample.
 */
final class ThreadProfile {
    private static final String JAVA_SAMPLE = "jdk.ExecutionSample";
    private static final String NATIVE_SAMPLE = "jdk.NativeMethodSample";
    private static final Duration PERIOD = Duration.ofMillis(10);
    private static final int SHOWN = 12;

    private final String threadName;
    private final Map<String, Integer> samples = new HashMap<>();

    ThreadProfile(String threadName) {
        this.threadName = threadName;
    }

    /** Measured work. */
    interface Measured {
        double run() throws Exception;
    }

    /** Runs something and adds the samples that were taken meanwhile. */
    double during(Measured measured) throws Exception {
        Path file = Files.createTempFile("bench", ".jfr");
        try (Recording recording = new Recording()) {
            recording.enable(JAVA_SAMPLE).withPeriod(PERIOD);
            recording.enable(NATIVE_SAMPLE).withPeriod(PERIOD);
            recording.start();
            double result = measured.run();
            recording.stop();
            recording.dump(file);
            add(file);
            return result;
        } finally {
            Files.delete(file);
        }
    }

    private void add(Path file) throws IOException {
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
            boolean sample = event.getEventType().getName().equals(JAVA_SAMPLE)
                    || event.getEventType().getName().equals(NATIVE_SAMPLE);
            if (sample && threadName.equals(event.getThread("sampledThread").getJavaName())) {
                samples.merge(place(event.getStackTrace().getFrames()), 1, Integer::sum);
            }
        }
    }

    /** Names the method on top and, for one that is not ours, the method of ours that called it. */
    private static String place(List<RecordedFrame> frames) {
        String top = name(frames.get(0).getMethod());
        for (RecordedFrame frame : frames) {
            if (frame.getMethod().getType().getName().startsWith("io.rdmashuffle.")) {
                String ours = name(frame.getMethod());
                return ours.equals(top) ? top : top + " < " + ours;
            }
        }
        return top;
    }

    private static String name(RecordedMethod method) {
        String type = method.getType().getName();
        return type.substring(type.lastIndexOf('.') + 1) + "." + method.getName();
    }

    @Override
    public String toString() {
        int total = samples.values().stream().mapToInt(Integer::intValue).sum();
        List<Map.Entry<String, Integer>> rows = samples.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
                .limit(SHOWN)
                .toList();
        return total + " samples of " + threadName + ":\n"
                + AsciiTable.getTable(
                        rows,
                        Arrays.asList(
                                new Column()
                                        .header("share")
                                        .with(row -> String.format(
                                                Locale.ROOT, "%.1f %%", 100.0 * row.getValue() / Math.max(1, total))),
                                new Column().header("method").with(Map.Entry::getKey)));
    }
}
