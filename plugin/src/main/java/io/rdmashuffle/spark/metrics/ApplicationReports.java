// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.metrics;

import io.rdmashuffle.fabric.Latencies;
import io.rdmashuffle.store.ShuffleCounter.Kind;
import java.time.Duration;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Last reports of executors in the driver: of all running ones and of the last {@value #MAX_ENDED} ended ones. Sums of
 * counters include the others.
 *
 * <p>Passes each report on to the store of the user interface, and to Spark's listeners when there is news: not more
 * often than the interval for each executor, and at its end.
 *
 * <p><b>Threading:</b> thread-safe; store and listeners are called with the lock held, and must not wait.
 */
public final class ApplicationReports {
    /** As many executors that have ended are listed. */
    static final int MAX_ENDED = 200;

    private static final long NANOS_PER_EXECUTOR = TimeUnit.SECONDS.toNanos(1);

    private final ReportStore store;
    private final Consumer<ExecutorReport> listeners;
    private final long intervalNanos;
    private final LongSupplier millisClock;
    private final LongSupplier nanoClock;
    private final Map<String, Known> running = new HashMap<>();
    private final Map<String, Known> ended = new LinkedHashMap<>();
    /** Executors that were removed before they reported, the last ones. */
    private final LinkedHashSet<String> unheard = new LinkedHashSet<>();

    private CounterValues forgotten = CounterValues.ZERO;
    private Latencies forgottenLatencies = Latencies.NONE;

    /** State of an executor, and its last event. */
    private static final class Known {
        ExecutorReport report;

        @Nullable
        ExecutorReport told;

        long toldNanos;

        Known(ExecutorReport report) {
            this.report = report;
        }
    }

    /**
     * Starts with nothing.
     *
     * @param listeners told of news
     * @param interval between two for one executor at least
     */
    public ApplicationReports(ReportStore store, Consumer<ExecutorReport> listeners, Duration interval) {
        this(store, listeners, interval, System::currentTimeMillis, System::nanoTime);
    }

    ApplicationReports(
            ReportStore store,
            Consumer<ExecutorReport> listeners,
            Duration interval,
            LongSupplier millisClock,
            LongSupplier nanoClock) {
        this.store = store;
        this.listeners = listeners;
        this.intervalNanos = interval.toNanos();
        this.millisClock = millisClock;
        this.nanoClock = nanoClock;
    }

    /** Handles a report. */
    public synchronized void take(ExecutorReport report) {
        Known known = ended.get(report.executorId());
        boolean ends = report.state() != ExecutorReport.State.RUNNING;
        if (known != null && !ends) {
            if (known.report.state() == ExecutorReport.State.STOPPED) {
                // An answer that was taken in late: what the executor said last is newer.
                return;
            }
            // It was on its way while the executor was removed.
            known.report = report.lost(millisClock.getAsLong());
        } else if (unheard.remove(report.executorId())) {
            known = end(new Known(report), ends ? report : report.lost(millisClock.getAsLong()));
        } else if (ends) {
            known = known == null ? running.remove(report.executorId()) : known;
            known = end(known == null ? new Known(report) : known, report);
        } else {
            known = running.computeIfAbsent(report.executorId(), id -> new Known(report));
            known.report = report;
        }
        store.put(known.report);
        tell(known, ends);
    }

    /** Records that Spark has removed an executor. */
    public synchronized void removed(String executorId) {
        Known known = running.remove(executorId);
        if (known != null) {
            end(known, known.report.lost(millisClock.getAsLong()));
            store.put(known.report);
            tell(known, true);
        } else if (!ended.containsKey(executorId)) {
            unheard.add(executorId);
            if (unheard.size() > MAX_ENDED) {
                unheard.remove(unheard.iterator().next());
            }
        }
    }

    private Known end(Known known, ExecutorReport last) {
        known.report = last;
        ended.put(last.executorId(), known);
        if (ended.size() > MAX_ENDED) {
            Iterator<Known> oldest = ended.values().iterator();
            ExecutorReport dropped = oldest.next().report;
            oldest.remove();
            forgotten = forgotten.plus(dropped.counters(), counter -> counter.kind() != Kind.GAUGE);
            forgottenLatencies = forgottenLatencies.plus(dropped.readLatencies());
            store.remove(dropped.executorId());
            store.put(ExecutorReport.ofEarlier(millisClock.getAsLong(), forgotten, forgottenLatencies));
        }
        return known;
    }

    private void tell(Known known, boolean now) {
        long nanos = nanoClock.getAsLong();
        ExecutorReport told = known.told;
        long interval = Math.max(intervalNanos, NANOS_PER_EXECUTOR * running.size());
        if (told != null && (known.report.saysTheSame(told) || (!now && nanos - known.toldNanos < interval))) {
            return;
        }
        known.told = known.report;
        known.toldNanos = nanos;
        listeners.accept(known.report);
    }

    /** Passes on what listeners have not been told, since nothing will come any more. */
    public synchronized void tellRest(Consumer<ExecutorReport> to) {
        for (Map<String, Known> each : List.of(running, ended)) {
            for (Known known : each.values()) {
                ExecutorReport told = known.told;
                if (told == null || !known.report.saysTheSame(told)) {
                    known.told = known.report;
                    to.accept(known.report);
                }
            }
        }
    }

    /** Returns the sums over all executors that there ever were; those of gauges over the running ones. */
    public synchronized Readings totals() {
        CounterValues sums = forgotten;
        Latencies latencies = forgottenLatencies;
        for (Known known : ended.values()) {
            sums = sums.plus(known.report.counters(), counter -> counter.kind() != Kind.GAUGE);
            latencies = latencies.plus(known.report.readLatencies());
        }
        for (Known known : running.values()) {
            sums = sums.plus(known.report.counters(), counter -> true);
            latencies = latencies.plus(known.report.readLatencies());
        }
        return new Readings(sums, latencies);
    }
}
