// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Rate limiter of log lines: one line per subject and minute, with a count of the others.
 *
 * <p><b>Threading:</b> one thread.
 *
 * @param <K> what lines are about; the one that was first logged longest ago is forgotten when there are too many
 */
public final class LogLimit<K> {
    /** Means that the line is not to be logged. */
    public static final int SILENT = -1;

    static final int MAX_SUBJECTS = 1024;
    static final long INTERVAL_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final LongSupplier nanoClock;
    private final Map<K, Line> lines = new LinkedHashMap<>();

    /** Time of the last line of a subject, and the number of suppressed ones. */
    private static final class Line {
        private long loggedAt;
        private int silent;

        Line(long loggedAt) {
            this.loggedAt = loggedAt;
        }
    }

    /** Reads time from this clock, {@link System#nanoTime} outside tests. */
    public LogLimit(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    /**
     * Returns the number of suppressed lines about a subject before this one; {@link #SILENT} to suppress this one,
     * too.
     */
    public int take(K subject) {
        long now = nanoClock.getAsLong();
        Line line = lines.get(subject);
        if (line == null) {
            lines.put(subject, new Line(now));
            if (lines.size() > MAX_SUBJECTS) {
                lines.remove(lines.keySet().iterator().next());
            }
            return 0;
        }
        if (now - line.loggedAt < INTERVAL_NANOS) {
            line.silent++;
            return SILENT;
        }
        int silent = line.silent;
        line.silent = 0;
        line.loggedAt = now;
        return silent;
    }
}
