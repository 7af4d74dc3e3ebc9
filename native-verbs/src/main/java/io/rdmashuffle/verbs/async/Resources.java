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
import io.rdmashuffle.verbs.SharedReceiveQueue;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

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

    private static final int RETRIES = 7;
    /** Without end: the operation's own timeout ends the wait for the peer's receive. */
    private static final int RNR_RETRIES = 7;

    private final EndpointOptions options;
    private final EventChannel events;
    private final Context context;
    private final ProtectionDomain domain;
    private final DeviceLimits limits;
    private final boolean iwarp;
    private final AtomicInteger connectionNumbers = new AtomicInteger();
    private final Set<LocalRegion> regions = ConcurrentHashMap.newKeySet();

    private Resources(EventChannel events, Context context, EndpointOptions options) {
        this.events = events;
        this.context = context;
        this.options = options;
        this.limits = context.limits();
        this.iwarp = context.transport() == Transport.IWARP;
        this.domain = context.allocateProtectionDomain();
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

    /** Creates the threads, each with a queue and, as far as the device has them, an interrupt of its own. */
    ProgressThreads createThreads() {
        int entries = Math.min(options.maxCompletions(), limits.maxCompletions());
        int vectors = Math.max(1, context.completionVectors());
        // Endpoints of other processes begin at others, so that not all of them interrupt one core.
        int first = ThreadLocalRandom.current().nextInt(vectors);
        Map<CompletionChannel, CompletionQueue> queues = new LinkedHashMap<>();
        for (int i = 0; i < options.progressThreads(); i++) {
            CompletionChannel channel = context.createCompletionChannel();
            queues.put(channel, context.createCompletionQueue(entries, channel, (first + i) % vectors));
        }
        List<Progress> threads = new ArrayList<>();
        queues.forEach((channel, queue) -> threads.add(new Progress(channel, queue, entries, options.busyPoll())));
        return new ProgressThreads(threads);
    }

    Context context() {
        return context;
    }

    String deviceName() {
        return context.deviceName();
    }

    /** Returns every right that memory can have on this device. */
    Set<Access> allRights() {
        Set<Access> rights = EnumSet.of(Access.LOCAL_WRITE);
        rights.addAll(peerRights());
        return rights;
    }

    /** Returns the number of messages in flight per connection and direction. */
    int maxMessages() {
        return Math.min(options.maxInFlight(), options.maxReceives());
    }

    /** Returns the most pieces of local memory in one READ; a device that says 0 has no limit of its own for them. */
    private int maxPiecesOfRead() {
        return limits.maxPiecesOfRead() < 1 ? maxPieces() : Math.min(maxPieces(), limits.maxPiecesOfRead());
    }

    /** Returns the most pieces of local memory in one operation. */
    int maxPieces() {
        return Math.min(options.maxPieces(), limits.maxPieces());
    }

    /** Returns this side's limits of a connection, before it knows the peer. */
    ReadDepth readDepth() {
        return ReadDepth.of(limits);
    }

    /** Returns all rights that peers may have on this device; some drivers refuse unsupported ones. */
    Set<Access> peerRights() {
        return limits.atomics()
                ? Set.of(Access.REMOTE_READ, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC)
                : Set.of(Access.REMOTE_READ, Access.REMOTE_WRITE);
    }

    private DeviceAbilities abilities() {
        return new DeviceAbilities(domain, deviceName(), maxPieces(), maxPiecesOfRead(), limits.atomics());
    }

    LocalRegion allocate(long lengthBytes, Set<Access> rights) {
        return keep(LocalRegion.allocate(domain, lengthBytes, onDevice(rights), regions::remove));
    }

    LocalRegion register(ByteBuffer buffer, Set<Access> rights) {
        return keep(LocalRegion.over(domain, buffer, onDevice(rights), regions::remove));
    }

    LocalRegion register(long address, long lengthBytes, Set<Access> rights) {
        return keep(LocalRegion.at(domain, address, lengthBytes, onDevice(rights), regions::remove));
    }

    /**
     * Returns the rights with the additional ones that this device needs: on iWARP a READ writes its target as a peer
     * would.
     */
    private Set<Access> onDevice(Set<Access> rights) {
        if (!iwarp || !rights.contains(Access.LOCAL_WRITE)) {
            return rights;
        }
        Set<Access> all = EnumSet.copyOf(rights);
        all.add(Access.REMOTE_WRITE);
        return all;
    }

    private LocalRegion keep(LocalRegion region) {
        regions.add(region);
        return region;
    }

    /**
     * Creates the local end of a connection, with its queue pair ready for receives.
     *
     * @param receives shared receives; null for its own
     * @param afterEnd runs after the end of the connection, unless the device does not release it
     * @throws IOException if no completion queue has room for another
     */
    RdmaConnection newConnection(CmId id, ProgressThreads threads, @Nullable ReceiveSource receives, Runnable afterEnd)
            throws IOException {
        if (!id.isOn(context)) {
            throw new IOException("the route to " + id.remoteAddress() + " does not use " + deviceName()
                    + ", the device of this endpoint; open an endpoint on the device that it uses");
        }
        if (receives != null) {
            receives.requireOpen();
        }
        int completions = options.maxInFlight() + (receives == null ? options.maxReceives() : 0);
        Progress progress = threads.roomiest();
        if (!progress.reserve(completions)) {
            throw new IOException("no completion queue has room for another connection, which takes " + completions
                    + " entries; open the endpoint with more than maxCompletions=" + options.maxCompletions());
        }
        LocalRegion scratch = null;
        QueuePair pair = null;
        boolean made = false;
        try {
            scratch = allocate(Requests.scratchBytes(options), Set.of(Access.LOCAL_WRITE));
            QueueSizes sizes =
                    new QueueSizes(options.maxInFlight(), options.maxReceives(), maxPieces(), options.inlineBytes());
            pair = domain.createQueuePair(
                    sizes, progress.queue(), progress.queue(), receives == null ? null : receives.queue());
            pair.initialize(id, peerRights());
            LocalRegion freed = scratch;
            Runnable giveBack = () -> {
                freed.closeWhenUnused(LocalRegion.closeDeadline());
                progress.giveBack(completions);
                afterEnd.run();
            };
            RdmaConnection connection = connection(
                    id, pair, progress, threads, new Requests(abilities(), options, scratch), receives, giveBack);
            made = true;
            progress.add(connection.state());
            return connection;
        } finally {
            if (!made) {
                progress.giveBack(completions);
                if (pair != null) {
                    pair.close();
                }
                if (scratch != null) {
                    scratch.close();
                }
            }
        }
    }

    private RdmaConnection connection(
            CmId id,
            QueuePair pair,
            Progress progress,
            ProgressThreads threads,
            Requests requests,
            @Nullable ReceiveSource receives,
            Runnable afterEnd)
            throws IOException {
        ConnectionState state =
                new ConnectionState(nextNumber(), id, pair, progress, options, maxPieces(), receives != null, afterEnd);
        RdmaConnection connection = new RdmaConnection(state, progress, threads, requests);
        if (receives != null) {
            receives.add(pair.number(), connection);
        }
        return connection;
    }

    /** Returns a number for work request ids, which no other connection or shared receives have. */
    int nextNumber() {
        return connectionNumbers.incrementAndGet();
    }

    /**
     * Creates a receive queue for many connections.
     *
     * @throws UnsupportedOperationException if the device has none
     * @throws IllegalArgumentException if it is too long for the device
     */
    SharedReceiveQueue createSharedReceiveQueue(int entries) {
        if (limits.maxSharedReceives() == 0) {
            throw new UnsupportedOperationException(
                    deviceName() + " has no shared receive queues (ibv_devinfo -v: max_srq)");
        }
        if (entries > limits.maxSharedReceives()) {
            throw new IllegalArgumentException(entries + " shared receives on " + deviceName() + ": at most "
                    + limits.maxSharedReceives() + " (ibv_devinfo -v: max_srq_wr)");
        }
        return domain.createSharedReceiveQueue(entries);
    }

    /** Returns this side's parameters in a request, or in the answer. */
    ConnectionParameters parameters(QueuePair pair, ReadDepth depth, byte[] privateData) {
        return new ConnectionParameters(pair, depth.asInitiator(), depth.asTarget(), RETRIES, RNR_RETRIES, privateData);
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
                } else if (e != kept) {
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
