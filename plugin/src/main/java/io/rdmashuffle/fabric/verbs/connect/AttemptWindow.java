// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.connect;

import java.util.concurrent.TimeUnit;

/**
 * Adaptive limit of concurrent connection attempts: more as long as they are quick, half as many when one was slow.
 * Whatever is short, a peer's processor or the buffers of a kernel, shows in the time that attempts take, so that
 * executors share it without knowing of each other.
 *
 * <p><b>Threading:</b> not safe; of the {@link Connector}.
 */
final class AttemptWindow {
    /**
     * A kernel takes in 512 management datagrams at once for all connections of a device (recv_queue_size of ib_mad);
     * one that is dropped comes again after 4 s and more. An attempt takes a few round trips and the control threads at
     * both ends less than 1 ms each, so that 64 keep them busy, and eight executors that meet at one peer do not
     * overrun it.
     */
    static final int MAX = 64;

    /** Initial size: a hundred executors that meet at one peer do not overrun it, and 60 attempts later it is 64. */
    static final int FIRST = 4;

    /** An attempt takes a few milliseconds where nothing is short. */
    static final long QUICK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /** Far below the time after which a kernel sends a dropped datagram again. */
    static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(1);

    /**
     * Attempts that take as long do not count any more, so that peers that never answer do not keep the others waiting
     * until their time is up; there are still no more than {@link #MAX} under way.
     */
    static final long STALLED_NANOS = TimeUnit.SECONDS.toNanos(4);

    private int size;
    private boolean halved;
    private long halvedAt;

    /** Starts with a size; for tests that need another than {@link #FIRST}. */
    AttemptWindow(int size) {
        this.size = size;
    }

    /** Returns the current limit, from 1 to {@value #MAX}. */
    int size() {
        return size;
    }

    /**
     * Handles an attempt that was answered, or whose time was up.
     *
     * @param begunAt when its first step was taken, on the clock of {@code now}, in nanoseconds
     */
    void ended(long begunAt, long now) {
        long took = now - begunAt;
        if (took < QUICK_NANOS) {
            size = Math.min(MAX, size + 1);
        } else if (took >= SLOW_NANOS && (!halved || begunAt - halvedAt >= 0)) {
            // What began before the last time tells nothing of the smaller window.
            size = Math.max(1, size / 2);
            halved = true;
            halvedAt = now;
        }
    }
}
