// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.registry;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Remembers for a short while which executors the driver has just been asked about, so that a reader of a thousand
 * blocks of an unknown executor asks once.
 *
 * <p><b>Threading:</b> not safe; {@link RegistryAgent} guards it.
 */
final class RecentAnswers {
    /** A new executor's announcement takes milliseconds; until then Netty serves it. */
    static final Duration HOLD = Duration.ofSeconds(1);

    private static final int CAPACITY = 4096;

    private final LongSupplier nanoClock;
    private final Map<String, Long> answeredNanos = new LinkedHashMap<>();

    RecentAnswers(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    void add(String executorId) {
        answeredNanos.remove(executorId);
        answeredNanos.put(executorId, nanoClock.getAsLong());
        if (answeredNanos.size() > CAPACITY) {
            answeredNanos.remove(answeredNanos.keySet().iterator().next());
        }
    }

    boolean contains(String executorId) {
        Long answered = answeredNanos.get(executorId);
        return answered != null && nanoClock.getAsLong() - answered < HOLD.toNanos();
    }
}
