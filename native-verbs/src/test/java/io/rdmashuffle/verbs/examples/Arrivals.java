// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.WorkCompletions;
import io.rdmashuffle.verbs.WorkFailedException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The completions of a link, polled as long as the peer is there and not silent for too long.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> the creator closes it, and the link after it.
 */
final class Arrivals implements AutoCloseable {
    /** Polls between two looks at the clock and at the connection. */
    private static final int POLLS = 1024;

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Link link;
    private final CompletionQueue queue;
    private final Duration timeout;
    private final boolean sleeping;
    private final WorkCompletions completions;

    /**
     * Prepares to poll.
     *
     * @param capacity most completions at once
     * @param timeout most time without one
     * @param sleeping whether this side sleeps between two polls, as one may whose processor is not measured
     */
    Arrivals(Link link, int capacity, Duration timeout, boolean sleeping) {
        this.link = link;
        this.queue = link.side().completions();
        this.timeout = timeout;
        this.sleeping = sleeping;
        this.completions = new WorkCompletions(capacity);
    }

    /**
     * Waits for completions.
     *
     * @param what expected completions, for messages
     * @return polled completions, at least one, all successful
     * @throws IOException if one has failed, the peer has disconnected, or on timeout
     */
    WorkCompletions await(String what) throws IOException {
        long deadline = System.nanoTime() + timeout.toNanos();
        IOException gone = null;
        for (int polls = 1; queue.poll(completions) == 0; polls++) {
            if (gone != null) {
                throw gone;
            }
            if (sleeping) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
            if (sleeping || polls % POLLS == 0) {
                if (System.nanoTime() - deadline > 0) {
                    throw new IOException("no " + what + " within " + timeout.toSeconds() + " s, peer " + link.peer()
                            + "; it has gone, waits for something else, or its packets do not arrive");
                }
                gone = peerGone();
            }
            Thread.onSpinWait();
        }
        for (int i = 0; i < completions.count(); i++) {
            if (!completions.succeeded(i)) {
                throw new WorkFailedException(what, link.peer(), completions.status(i), completions.vendorError(i));
            }
        }
        return completions;
    }

    /** Completions that arrived before the peer disconnected are polled once more. */
    private @Nullable IOException peerGone() {
        try {
            link.requirePeer();
            return null;
        } catch (IOException e) {
            return e;
        }
    }

    @Override
    public void close() {
        completions.close();
    }
}
