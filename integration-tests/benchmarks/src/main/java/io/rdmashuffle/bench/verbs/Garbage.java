// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/** Bytes that threads allocate on the heap, between two looks; one look allocates some hundred bytes itself. */
final class Garbage {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Map<Long, Long> before = new HashMap<>();
    private final long[] threads;

    private Garbage(long[] threads) {
        this.threads = threads;
        long[] bytes = THREADS.getThreadAllocatedBytes(threads);
        for (int i = 0; i < threads.length; i++) {
            before.put(threads[i], bytes[i]);
        }
    }

    /** Looks at all threads that live now. */
    static Garbage ofAllThreads() {
        return new Garbage(THREADS.getAllThreadIds());
    }

    /** Looks at the calling thread. */
    static Garbage ofThisThread() {
        return new Garbage(new long[] {Thread.currentThread().getId()});
    }

    /** Returns what they have allocated since; threads that have ended meanwhile count nothing. */
    long bytes() {
        long[] now = THREADS.getThreadAllocatedBytes(threads);
        long sum = 0;
        for (int i = 0; i < threads.length; i++) {
            sum += Math.max(0, now[i] - before.getOrDefault(threads[i], 0L));
        }
        return sum;
    }
}
