// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The channels of one data thread, and which of them have something to do: reads that wait or are outstanding, queries,
 * deadlines to watch.
 *
 * <p>A turn visits those only, so that it costs the same however many peers are connected and idle, or being connected.
 * A channel is added by what gives it something to do, and leaves in the turn in which it has nothing left. One that
 * waits for its connection is set aside until the outcome is there; meanwhile only its deadlines are watched.
 *
 * <p><b>Threading:</b> the data thread.
 */
final class ActiveChannels implements PeerReadChannel.Schedule {
    private final List<PeerReadChannel> active = new ArrayList<>();
    /** Channels that wait for their connection. */
    private final Set<PeerReadChannel> connecting = new LinkedHashSet<>();
    /** All that were used and are not closed. */
    private final Set<PeerReadChannel> open = new LinkedHashSet<>();

    private long visits;

    /** Adds a channel that is not active. */
    @Override
    public void activate(PeerReadChannel channel) {
        active.add(channel);
    }

    @Override
    public void opened(PeerReadChannel channel) {
        open.add(channel);
    }

    @Override
    public void closed(PeerReadChannel channel) {
        open.remove(channel);
        resume(channel);
    }

    @Override
    public void resume(PeerReadChannel channel) {
        if (connecting.remove(channel)) {
            active.add(channel);
        }
    }

    /** Advances each active channel; returns whether any of them did anything. */
    boolean advance(long now) {
        boolean any = false;
        for (int i = active.size() - 1; i >= 0; i--) {
            PeerReadChannel each = active.get(i);
            visits++;
            any |= each.advance(now);
            boolean busy = each.isBusy();
            if (!busy || each.isConnecting()) {
                // The last one was visited already.
                active.set(i, active.get(active.size() - 1));
                active.remove(active.size() - 1);
                if (busy) {
                    connecting.add(each);
                } else {
                    each.deactivated(now);
                }
            }
        }
        return any;
    }

    /** Checks the deadlines of each active channel. */
    void expire(long now) {
        for (int i = active.size() - 1; i >= 0; i--) {
            visits++;
            active.get(i).expire(now);
        }
        if (connecting.isEmpty()) {
            return; // an iterator would be garbage at every tick
        }
        for (Iterator<PeerReadChannel> channels = connecting.iterator(); channels.hasNext(); ) {
            PeerReadChannel each = channels.next();
            visits++;
            each.expire(now);
            if (!each.isBusy()) {
                channels.remove();
                each.deactivated(now);
            }
        }
    }

    /** Closes connections of inactive channels that have been idle for that time. */
    void closeIdle(long now, long idleNanos) {
        for (PeerReadChannel each : open) {
            visits++;
            each.closeIfIdle(now, idleNanos);
        }
    }

    /** Returns whether any channel has something to do. */
    boolean isBusy() {
        return !active.isEmpty();
    }

    /** Returns whether any channel waits for its connection. */
    boolean isConnecting() {
        return !connecting.isEmpty();
    }

    /** Does something with all channels that are open, idle ones too. */
    void forEachOpen(Consumer<PeerReadChannel> action) {
        // A copy: the action may close a channel.
        List.copyOf(open).forEach(action);
    }

    /** Returns the number of visits to channels since the start. */
    long visits() {
        return visits;
    }
}
