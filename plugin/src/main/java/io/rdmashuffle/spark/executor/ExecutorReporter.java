// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.registry.Receipt;
import io.rdmashuffle.registry.RegistryMessage.Report;
import io.rdmashuffle.registry.RegistryMessage.Report.Occasion;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Periodic reports of this executor to the driver while counters change: at an interval, which grows with the number of
 * executors so that the driver gets at most 50 reports a second, and once more at the end. While a number grows that
 * the driver must know if this executor ends, they come every second, with more than 50 executors less often.
 *
 * <p><b>Threading:</b> {@link #run} is called by one thread again and again, {@link #reportLast} by any, once.
 */
final class ExecutorReporter implements Runnable {
    /** Interval between calls of {@link #run}. */
    static final Duration TICK = Duration.ofSeconds(1);

    private static final Logger LOG = LoggerFactory.getLogger(ExecutorReporter.class);
    private static final long NANOS_PER_EXECUTOR = Duration.ofMillis(20).toNanos();

    private final Function<Occasion, Report> reports;
    private final Function<Report, Receipt> driver;
    private final IntSupplier executors;
    private final LongSupplier urgent;
    private final long intervalNanos;
    private final LongSupplier nanoClock;
    /** Last report that the driver accepted; confined to the thread that runs this. */
    private @Nullable Report taken;
    /** The urgent number at that time; confined in the same way. */
    private long lastUrgent;

    private long lastNanos;
    private boolean begun;
    private boolean ended;

    /**
     * Prepares.
     *
     * @param reports makes a report
     * @param driver takes a report
     * @param executors how many there are in the application
     * @param urgent a number whose growth is reported at once
     */
    ExecutorReporter(
            Function<Occasion, Report> reports,
            Function<Report, Receipt> driver,
            IntSupplier executors,
            LongSupplier urgent,
            Duration interval,
            LongSupplier nanoClock) {
        this.reports = reports;
        this.driver = driver;
        this.executors = executors;
        this.urgent = urgent;
        this.intervalNanos = interval.toNanos();
        this.nanoClock = nanoClock;
    }

    /** Reports if it is time to, and there is news. */
    @Override
    public void run() {
        long now = nanoClock.getAsLong();
        long number = urgent.getAsLong();
        synchronized (this) {
            long least = NANOS_PER_EXECUTOR * executors.getAsInt();
            long interval = number > lastUrgent ? least : Math.max(intervalNanos, least);
            if (ended || (begun && now - lastNanos < interval)) {
                return;
            }
            begun = true;
            lastNanos = now;
        }
        Report report = reports.apply(Occasion.USUAL);
        if (report.equals(taken) || driver.apply(report) != Receipt.NONE) {
            taken = report;
            lastUrgent = number;
        }
    }

    /** Reports for the last time, and returns the driver's answer; a driver that is gone is no failure. */
    Receipt reportLast() {
        synchronized (this) {
            if (ended) {
                return Receipt.NONE;
            }
            ended = true;
        }
        try {
            return driver.apply(reports.apply(Occasion.STOPPED));
        } catch (RuntimeException e) {
            LOG.debug("No last report of this executor", e);
            return Receipt.NONE;
        }
    }
}
