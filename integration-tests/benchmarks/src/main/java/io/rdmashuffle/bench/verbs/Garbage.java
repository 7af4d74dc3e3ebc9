// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Bytes that threads allocate on the heap between two readings, without the bytes of the readings. */
final class Garbage {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final long[] threads;
    private final long own;
    private final long[] before;

    private Garbage(long[] threads) {
        this.threads = threads;
        long thread = Thread.currentThread().getId();
        look();
        long lookBefore = THREADS.getThreadAllocatedBytes(thread);
        look();
        this.own = THREADS.getThreadAllocatedBytes(thread) - lookBefore;
        this.before = look();
    }

    private long[] look() {
        return THREADS.getThreadAllocatedBytes(threads);
    }

    /** Examines all threads that live now. */
    static Garbage ofAllThreads() {
        return new Garbage(THREADS.getAllThreadIds());
    }

    /** Examines the calling thread. */
    static Garbage ofThisThread() {
        return new Garbage(new long[] {Thread.currentThread().getId()});
    }

    /** Returns the bytes allocated since then, without threads that have ended. */
    long bytes() {
        long[] now = look();
        long sum = 0;
        for (int i = 0; i < threads.length; i++) {
            sum += Math.max(0, now[i] - before[i]);
        }
        return Math.max(0, sum - own);
    }
}
