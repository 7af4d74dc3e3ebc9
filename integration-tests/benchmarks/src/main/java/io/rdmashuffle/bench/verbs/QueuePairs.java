// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench.verbs;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.ConnectionParameters;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceLimits;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueuePairTuning;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Two connected queue pairs of one process, each with a completion queue and memory of its own.
 *
 * <p><b>Threading:</b> made and closed by one thread; each side may be used by another.
 *
 * <p><b>Ownership:</b> owns all of it.
 */
final class QueuePairs implements AutoCloseable {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final int MAX_READS = 16;
    private static final int MIN_RNR_TIMER = 1;

    final Side client;
    final Side server;
    private final EventChannel events;
    private final Context context;

    /** One side. */
    record Side(QueuePair pair, CompletionQueue completions, NativeBuffer memory, MemoryRegion region) {
        long at(long offset) {
            return region.address() + offset;
        }
    }

    QueuePairs(InetAddress address, long regionBytes, int depth) throws RdmaUnavailableException {
        events = EventChannel.open(VerbsLibrary.load());
        CmId listener = events.createId();
        listener.bind(new InetSocketAddress(address, 0));
        listener.listen(1);
        CmId clientId = events.createId();
        clientId.resolveAddress(
                new InetSocketAddress(address, 0), Objects.requireNonNull(listener.localAddress()), TIMEOUT);
        await(CmEvent.Type.ADDRESS_RESOLVED);
        clientId.resolveRoute(TIMEOUT);
        await(CmEvent.Type.ROUTE_RESOLVED);
        context = Objects.requireNonNull(clientId.context(), "a resolved id is on a device");
        DeviceLimits limits = context.limits();
        ProtectionDomain domain = context.allocateProtectionDomain();
        client = side(domain, regionBytes, depth, limits);
        server = side(domain, regionBytes, depth, limits);
        int reads = Math.min(MAX_READS, Math.min(limits.maxReadsAsInitiator(), limits.maxReadsAsTarget()));
        client.pair.initialize(clientId, remoteRights(limits));
        clientId.connect(new ConnectionParameters(client.pair, reads, reads, 7, 7, new byte[0]));
        CmId serverId = await(CmEvent.Type.CONNECT_REQUEST).id();
        server.pair.initialize(serverId, remoteRights(limits));
        server.pair.readyToReceive(serverId, QueuePairTuning.DEFAULT, MIN_RNR_TIMER);
        server.pair.readyToSend(serverId, QueuePairTuning.DEFAULT);
        serverId.accept(new ConnectionParameters(server.pair, reads, reads, 7, 7, new byte[0]));
        boolean iwarp = context.transport() == Transport.IWARP;
        await(iwarp ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE);
        client.pair.readyToReceive(clientId, QueuePairTuning.DEFAULT, MIN_RNR_TIMER);
        client.pair.readyToSend(clientId, QueuePairTuning.DEFAULT);
        clientId.establish();
        await(CmEvent.Type.ESTABLISHED);
    }

    private static Set<Access> remoteRights(DeviceLimits limits) {
        Set<Access> rights = EnumSet.of(Access.REMOTE_READ, Access.REMOTE_WRITE);
        if (limits.atomics()) {
            rights.add(Access.REMOTE_ATOMIC);
        }
        return rights;
    }

    private Side side(ProtectionDomain domain, long regionBytes, int depth, DeviceLimits limits) {
        NativeBuffer memory = NativeBuffer.ofPages(regionBytes);
        Set<Access> rights = EnumSet.of(Access.LOCAL_WRITE);
        rights.addAll(remoteRights(limits));
        MemoryRegion region = domain.registerMemory(memory.address(), regionBytes, rights);
        CompletionQueue queue = context.createCompletionQueue(4 * depth, null);
        QueuePair pair = domain.createQueuePair(new QueueSizes(depth, 2 * depth, 1, 0), queue, queue, null);
        return new Side(pair, queue, memory, region);
    }

    private CmEvent await(CmEvent.Type type) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        CmEvent event = events.nextEvent();
        while (event == null) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException("no " + type + " within " + TIMEOUT.toSeconds() + " s");
            }
            LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(100));
            event = events.nextEvent();
        }
        if (event.type() != type) {
            throw new IllegalStateException(event.describe() + " instead of " + type);
        }
        return event;
    }

    @Override
    public void close() {
        try {
            context.close();
        } finally {
            events.close();
            client.memory.close();
            server.memory.close();
        }
    }
}
