// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The channels of one data thread, and which of them have something to do: reads that wait or are outstanding, queries,
 * deadlines to watch.
 *
 * <p>A turn visits those only, so that it costs the same however many peers are connected and idle. A channel is added
 * by what gives it something to do, and leaves in the turn in which it has nothing left.
 *
 * <p><b>Threading:</b> the data thread.
 */
final class ActiveChannels {
    private final List<PeerReadChannel> active = new ArrayList<>();
    /** All that were used and are not closed. */
    private final Set<PeerReadChannel> open = new LinkedHashSet<>();

    private long visits;

    /** Adds a channel that is not active. */
    void add(PeerReadChannel channel) {
        active.add(channel);
    }

    /** Has a channel closed with the data thread. */
    void opened(PeerReadChannel channel) {
        open.add(channel);
    }

    /** Forgets a channel that is closed. */
    void closed(PeerReadChannel channel) {
        open.remove(channel);
    }

    /** Has each active channel go on; returns whether any of them did anything. */
    boolean advance(long now) {
        boolean any = false;
        for (int i = active.size() - 1; i >= 0; i--) {
            PeerReadChannel each = active.get(i);
            visits++;
            any |= each.advance(now);
            if (!each.isBusy()) {
                // The last one was visited already.
                active.set(i, active.get(active.size() - 1));
                active.remove(active.size() - 1);
                each.deactivated(now);
            }
        }
        return any;
    }

    /** Has each active channel look at its deadlines. */
    void expire(long now) {
        for (int i = active.size() - 1; i >= 0; i--) {
            visits++;
            active.get(i).expire(now);
        }
    }

    /** Has each channel that is not active close a connection through which nothing was read for so long. */
    void closeIdle(long now, long idleNanos) {
        for (PeerReadChannel each : open) {
            visits++;
            each.closeIfIdle(now, idleNanos);
        }
    }

    /** Returns whether any channel has something to wait for. */
    boolean isBusy() {
        return !active.isEmpty();
    }

    /** Does something with all channels that are open, idle ones too. */
    void forEachOpen(Consumer<PeerReadChannel> action) {
        // A copy: the action may close a channel.
        List.copyOf(open).forEach(action);
    }

    /** Returns how often a channel was looked at since the start. */
    long visits() {
        return visits;
    }
}
