// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Counts of open native objects of this process by kind, for leak tests.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class ResourceLedger {
    private static final Map<String, LongAdder> OPEN = new ConcurrentHashMap<>();

    private ResourceLedger() {}

    static void opened(Class<?> kind) {
        counter(kind).increment();
    }

    static void closed(Class<?> kind) {
        counter(kind).decrement();
    }

    private static LongAdder counter(Class<?> kind) {
        return OPEN.computeIfAbsent(kind.getSimpleName(), name -> new LongAdder());
    }

    /** {@return the number of open objects by simple class name; classes with none are left out} */
    public static Map<String, Long> open() {
        Map<String, Long> counts = new TreeMap<>();
        OPEN.forEach((kind, count) -> {
            if (count.sum() != 0) {
                counts.put(kind, count.sum());
            }
        });
        return counts;
    }
}
