// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reader of freed bytes in the GC logs of executors.
 *
 * <p><b>Threading:</b> one thread reads; the JVMs append.
 *
 * <p><b>Source:</b> unified logging of the JDK, tag gc:
 * {@code Pause Young (Normal) (G1 Evacuation Pause) 88M->20M(256M) 3.1ms}.
 *
 * @param folder that holds one log a process, and nothing else
 */
public record GarbageLog(Path folder) {
    private static final Pattern PAUSE = Pattern.compile("Pause .*? (\\d+)([BKMG])->(\\d+)([BKMG])\\(");
    private static final String SIZES = "BKMG";
    private static final int POWER = 10;

    /** Returns the option that makes a JVM write its log. */
    public String option() {
        return "-Xlog:gc:file=" + folder.resolve("gc-%p.log");
    }

    /** Returns the bytes that all collections so far freed. */
    public long bytes() throws IOException {
        List<Path> logs;
        try (Stream<Path> files = Files.list(folder)) {
            logs = files.toList();
        }
        long sum = 0;
        for (Path log : logs) {
            try (Stream<String> lines = Files.lines(log)) {
                sum += lines.mapToLong(GarbageLog::freed).sum();
            }
        }
        return sum;
    }

    /** Returns the bytes that the collection of one line freed, 0 if it is about something else. */
    static long freed(String line) {
        Matcher pause = PAUSE.matcher(line);
        return pause.find()
                ? Math.max(0, bytes(pause.group(1), pause.group(2)) - bytes(pause.group(3), pause.group(4)))
                : 0;
    }

    private static long bytes(String number, String unit) {
        return Long.parseLong(number) << (POWER * SIZES.indexOf(unit.toUpperCase(Locale.ROOT)));
    }
}
