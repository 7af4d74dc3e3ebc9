// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import io.rdmashuffle.conf.ShuffleConfig;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests to the driver, with a growing back-off after timeouts.
 *
 * <p><b>Threading:</b> safe; the lock is not held during a call.
 */
final class DriverLink {
    private static final Logger LOG = LoggerFactory.getLogger(DriverLink.class);
    private static final long FIRST_PAUSE_NANOS = Duration.ofSeconds(1).toNanos();
    private static final long MAX_PAUSE_NANOS = Duration.ofSeconds(30).toNanos();

    private final DriverChannel channel;
    private final Duration timeout;
    private final LongSupplier nanoClock;

    /** Length of the latest pause; 0 while the driver answers. */
    private long pauseNanos;

    private long pauseEndNanos;

    DriverLink(DriverChannel channel, Duration timeout, LongSupplier nanoClock) {
        this.channel = channel;
        this.timeout = timeout;
        this.nanoClock = nanoClock;
    }

    /** Returns the timeout of a request. */
    Duration timeout() {
        return timeout;
    }

    /** Returns the driver's answer; null at once during a pause, and null where there is none, which begins a pause. */
    @Nullable
    RegistryMessage ask(RegistryMessage request) {
        return ask(request, timeout);
    }

    /** Sends a request with a shorter timeout. */
    @Nullable
    RegistryMessage ask(RegistryMessage request, Duration atMost) {
        return isPaused() ? null : askNow(request, atMost);
    }

    /** Sends a request also during a pause, for one that cannot be repeated. */
    @Nullable
    RegistryMessage askNow(RegistryMessage request, Duration atMost) {
        try {
            RegistryMessage answer = channel.ask(request, atMost);
            answered();
            return answer;
        } catch (RegistryUnavailableException | RuntimeException e) {
            failed(request, e);
            return null;
        }
    }

    private synchronized boolean isPaused() {
        return pauseNanos > 0 && nanoClock.getAsLong() - pauseEndNanos < 0;
    }

    private synchronized void answered() {
        if (pauseNanos > 0) {
            LOG.info("The driver's registry answers again");
        }
        pauseNanos = 0;
    }

    private synchronized void failed(RegistryMessage request, Exception cause) {
        // An interrupt says that a task is being killed, nothing about the driver.
        if (isPaused() || Thread.currentThread().isInterrupted()) {
            return;
        }
        if (pauseNanos == 0) {
            LOG.warn(
                    "The driver's registry did not answer a {} ({}={} ms): {}; Spark's block transfer serves peers not"
                            + " known yet, and the driver is asked again after 1 to 30 s",
                    request.getClass().getSimpleName(),
                    ShuffleConfig.REGISTRY_TIMEOUT.key(),
                    timeout.toMillis(),
                    cause.toString(),
                    cause);
        }
        pauseNanos = pauseNanos == 0 ? FIRST_PAUSE_NANOS : Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
        pauseEndNanos = nanoClock.getAsLong() + pauseNanos;
    }
}
