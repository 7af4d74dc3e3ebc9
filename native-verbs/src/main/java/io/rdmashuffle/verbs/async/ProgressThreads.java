// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.AsyncEvent;
import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The progress threads of an endpoint: the first one makes connections and takes events; each connection is driven by
 * the thread that had the most room when it was made.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the endpoint's, which stops it before it closes queues and device.
 */
final class ProgressThreads {
    private final List<Progress> threads;

    /**
     * Accepts threads that have not started.
     *
     * @param threads at least one
     */
    ProgressThreads(List<Progress> threads) {
        this.threads = List.copyOf(threads);
    }

    void start() {
        threads.forEach(Progress::start);
    }

    /** Returns the thread that makes connections and takes events. */
    Progress first() {
        return threads.get(0);
    }

    /** Returns the thread whose completion queue has the most room. */
    Progress roomiest() {
        return threads.stream()
                .max(Comparator.comparingInt(Progress::freeCompletions))
                .orElseThrow();
    }

    void forEach(Consumer<Progress> action) {
        threads.forEach(action);
    }

    /**
     * Sets room in each completion queue aside, for what may complete on any of them.
     *
     * @throws IOException if one of them has not enough: nothing is set aside then
     */
    void reserveOnEach(int completions) throws IOException {
        for (int i = 0; i < threads.size(); i++) {
            if (!threads.get(i).reserve(completions)) {
                threads.subList(0, i).forEach(thread -> thread.giveBack(completions));
                throw new IOException("no room in a completion queue for " + completions
                        + " shared receives; open the endpoint with more maxCompletions");
            }
        }
    }

    /** Returns whether the caller is one of them, and must not wait for them. */
    boolean isCurrentThread() {
        return threads.stream().anyMatch(Progress::isCurrentThread);
    }

    /** Acts on an event of the device: on the failure of a connection, of a completion queue, or of all. */
    void handle(AsyncEvent event) {
        switch (event.type()) {
            case QUEUE_PAIR_FATAL, SHARED_RECEIVE_QUEUE_ERROR -> threads.forEach(thread -> thread.failSubjectOf(event));
            case LAST_WQE_REACHED -> threads.forEach(thread -> thread.lastReceiveOf(event));
            case COMPLETION_QUEUE_ERROR -> {
                if (threads.stream().anyMatch(thread -> thread.isSubjectOf(event))) {
                    lose("a completion queue overflowed or failed: " + event.description());
                }
            }
            case DEVICE_FATAL -> lose("the device failed: " + event.description());
            default -> {} // connections that a port's trouble ends, end by their retries
        }
    }

    /** Abandons the device: ends all connections without waiting for it, and refuses later requests. */
    void lose(String why) {
        IOException reason = new IOException(why);
        threads.forEach(thread -> thread.lose(reason));
    }

    /** Returns the reason why the device was abandoned or a thread died; null if neither happened. */
    @Nullable
    Throwable broken() {
        for (Progress thread : threads) {
            Throwable broken = thread.broken();
            if (broken != null) {
                return broken;
            }
        }
        return null;
    }

    /**
     * Fails everything, then ends the threads once all has ended; waits for that, also when interrupted. The first one
     * ends first, so that no connection is made on one that has ended.
     */
    void stop(Throwable reason) {
        boolean interrupted = false;
        for (Progress thread : threads) {
            interrupted |= thread.stop(reason);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
