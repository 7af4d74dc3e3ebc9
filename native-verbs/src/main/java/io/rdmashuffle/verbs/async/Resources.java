// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionChannel;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceLimits;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.ProtectionDomain;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An endpoint's native objects: one of each, shared by its connections.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> owns all of it; close comes after the connections are over and the progress thread has ended.
 */
final class Resources implements AutoCloseable {
    /** 0.64 ms: soon enough for a peer that is about to post a receive, rare enough for a queue pair that waits. */
    static final int MIN_RNR_TIMER = 12;

    /** READs outstanding per connection: enough for 16 x 64 KiB on the wire. The device may allow fewer. */
    private static final int MAX_READ_DEPTH = 16;

    private static final int RETRIES = 7;
    /** Without end: the operation's own timeout ends the wait for the peer's receive. */
    private static final int RNR_RETRIES = 7;

    private static final Set<Access> PEER_RIGHTS =
            Set.of(Access.REMOTE_READ, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC);

    private final EndpointOptions options;
    private final EventChannel events;
    private final Context context;
    private final ProtectionDomain domain;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final DeviceLimits limits;
    private final AtomicInteger freeCompletions;
    private final AtomicInteger connectionNumbers = new AtomicInteger();
    private final Set<LocalRegion> regions = ConcurrentHashMap.newKeySet();

    private Resources(EventChannel events, Context context, EndpointOptions options) {
        this.events = events;
        this.context = context;
        this.options = options;
        this.limits = context.limits();
        this.domain = context.allocateProtectionDomain();
        this.channel = context.createCompletionChannel();
        int entries = Math.min(options.maxCompletions(), limits.maxCompletions());
        this.queue = context.createCompletionQueue(entries, channel);
        this.freeCompletions = new AtomicInteger(entries);
    }

    /** Opens the device that has this address. */
    static Resources open(VerbsLibrary library, InetAddress local, EndpointOptions options) throws IOException {
        EventChannel events = EventChannel.open(library);
        boolean opened = false;
        try {
            // This id stays: librdmacm keeps the device open while there is one.
            CmId anchor = events.createId();
            anchor.bind(new InetSocketAddress(local, 0));
            Context context = anchor.context();
            if (context == null) {
                throw new IOException(local + " does not select an RDMA device; use an address of an RDMA device's port"
                        + " (rdma link; ip addr), not a wildcard");
            }
            try {
                Resources resources = new Resources(events, context, options);
                opened = true;
                return resources;
            } finally {
                if (!opened) {
                    context.close();
                }
            }
        } finally {
            if (!opened) {
                events.close();
            }
        }
    }

    EventChannel events() {
        return events;
    }

    CompletionChannel channel() {
        return channel;
    }

    CompletionQueue queue() {
        return queue;
    }

    String deviceName() {
        return context.deviceName();
    }

    boolean knows(LocalRegion region) {
        return region.isOf(domain);
    }

    LocalRegion allocate(long lengthBytes, Set<Access> rights) {
        LocalRegion region = LocalRegion.allocate(domain, lengthBytes, rights, regions::remove);
        regions.add(region);
        return region;
    }

    /**
     * Makes the end of a connection on this device, its queue pair ready for receives.
     *
     * @throws IOException if the completion queue has no room for another
     */
    RdmaConnection newConnection(CmId id, Progress progress) throws IOException {
        if (!id.isOn(context)) {
            throw new IOException("the route to " + id.remoteAddress() + " does not use " + deviceName()
                    + ", the device of this endpoint; open an endpoint on the device that it uses");
        }
        int completions = options.maxInFlight() + options.maxReceives();
        if (freeCompletions.addAndGet(-completions) < 0) {
            freeCompletions.addAndGet(completions);
            throw new IOException("the completion queue has no room for another connection, which takes " + completions
                    + " entries; open the endpoint with more than maxCompletions=" + options.maxCompletions());
        }
        LocalRegion scratch = null;
        QueuePair pair = null;
        boolean made = false;
        try {
            scratch = allocate(RdmaConnection.scratchBytes(options), Set.of(Access.LOCAL_WRITE));
            QueueSizes sizes = new QueueSizes(options.maxInFlight(), options.maxReceives(), 1, options.inlineBytes());
            pair = domain.createQueuePair(sizes, queue, queue, null);
            pair.initialize(id, PEER_RIGHTS);
            Runnable afterEnd = afterEnd(scratch, completions);
            ConnectionState state =
                    new ConnectionState(connectionNumbers.incrementAndGet(), id, pair, progress, options, afterEnd);
            RdmaConnection connection = new RdmaConnection(state, progress, scratch, options, this::knows);
            made = true;
            progress.add(state);
            return connection;
        } finally {
            if (!made) {
                freeCompletions.addAndGet(completions);
                if (pair != null) {
                    pair.close();
                }
                if (scratch != null) {
                    scratch.close();
                }
            }
        }
    }

    private Runnable afterEnd(LocalRegion scratch, int completions) {
        return () -> {
            scratch.closeWhenUnused(LocalRegion.closeDeadline());
            freeCompletions.addAndGet(completions);
        };
    }

    /** What this side asks of a peer, in a request. */
    ConnectionParameters parameters(QueuePair pair) {
        return answer(pair, limits.maxReadsAsInitiator(), limits.maxReadsAsTarget());
    }

    /** What this side grants a peer, in the answer to its request. */
    ConnectionParameters answer(QueuePair pair, int initiatorDepth, int responderResources) {
        return new ConnectionParameters(
                pair,
                Math.min(MAX_READ_DEPTH, initiatorDepth),
                Math.min(MAX_READ_DEPTH, responderResources),
                RETRIES,
                RNR_RETRIES,
                new byte[0]);
    }

    /**
     * Closes regions, then the device.
     *
     * @throws IllegalStateException if regions are still in use; the others are closed, the device is kept with them
     */
    @Override
    public void close() {
        long deadline = LocalRegion.closeDeadline();
        IllegalStateException kept = null;
        for (LocalRegion region : regions) {
            try {
                region.closeWhenUnused(deadline);
            } catch (IllegalStateException e) {
                if (kept == null) {
                    kept = e;
                } else {
                    kept.addSuppressed(e);
                }
            }
        }
        if (kept != null) {
            throw kept;
        }
        try {
            context.close();
        } finally {
            events.close();
        }
    }
}
