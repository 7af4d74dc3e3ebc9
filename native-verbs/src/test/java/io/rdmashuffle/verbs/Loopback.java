// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Two connected queue pairs on one device in one process, client and server, each with a completion queue of its own.
 *
 * <p><b>Threading:</b> one thread. <b>Ownership:</b> closing it closes everything, queue pairs first.
 */
final class Loopback implements AutoCloseable {
    static final Duration TIMEOUT = Duration.ofSeconds(5);
    static final QueueSizes SIZES = new QueueSizes(16, 16, 4, 64);
    static final Set<Access> REMOTE = EnumSet.of(Access.REMOTE_READ, Access.REMOTE_WRITE, Access.REMOTE_ATOMIC);
    private static final int DEPTH = 4;

    final RdmaTestDevice device;
    final boolean iwarp;
    final EventChannel events;
    final CmId listener;
    final Context context;
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue clientQueue;
    final CompletionQueue serverQueue;
    final @Nullable SharedReceiveQueue shared;
    final CmId clientId;
    final CmId serverId;
    final QueuePair client;
    final QueuePair server;

    private Loopback(RdmaTestDevice device, int rnrRetries, boolean withShared, Set<Access> serverRights) {
        this.device = device;
        events = EventChannel.open(device.library());
        listener = events.createId();
        listener.bind(new InetSocketAddress(device.address(), 0));
        listener.listen(4);
        InetSocketAddress address = address(listener);

        clientId = events.createId();
        clientId.resolveAddress(new InetSocketAddress(device.address(), 0), address, TIMEOUT);
        CmEvents.expect(events, CmEvent.Type.ADDRESS_RESOLVED);
        clientId.resolveRoute(TIMEOUT);
        CmEvents.expect(events, CmEvent.Type.ROUTE_RESOLVED);

        context = context(clientId);
        iwarp = context.transport() == Transport.IWARP;
        domain = context.allocateProtectionDomain();
        channel = context.createCompletionChannel();
        clientQueue = context.createCompletionQueue(64, channel);
        serverQueue = context.createCompletionQueue(64, channel);
        shared = withShared ? domain.createSharedReceiveQueue(16) : null;
        client = domain.createQueuePair(SIZES, clientQueue, clientQueue, null);
        server = domain.createQueuePair(SIZES, serverQueue, serverQueue, shared);

        client.initialize(clientId, REMOTE);
        clientId.connect(parameters(client, rnrRetries));
        serverId = CmEvents.expect(events, CmEvent.Type.CONNECT_REQUEST).id();
        server.initialize(serverId, serverRights);
        server.readyToReceive(serverId, QueuePairTuning.DEFAULT);
        server.readyToSend(serverId, QueuePairTuning.DEFAULT);
        serverId.accept(parameters(server, rnrRetries));
        // On iWARP it is established with the answer.
        CmEvents.expect(events, iwarp ? CmEvent.Type.ESTABLISHED : CmEvent.Type.CONNECT_RESPONSE);
        client.readyToReceive(clientId, QueuePairTuning.DEFAULT);
        client.readyToSend(clientId, QueuePairTuning.DEFAULT);
        clientId.establish();
        CmEvents.expect(events, CmEvent.Type.ESTABLISHED);
    }

    static Loopback connect() {
        return connect(6, false, REMOTE);
    }

    static Loopback connect(int rnrRetries, boolean withShared, Set<Access> serverRights) {
        return new Loopback(RdmaTestDevice.require(), rnrRetries, withShared, serverRights);
    }

    static InetSocketAddress address(CmId listener) {
        InetSocketAddress address = listener.localAddress();
        if (address == null) {
            throw new AssertionError("not bound");
        }
        return address;
    }

    static Context context(CmId id) {
        Context context = id.context();
        if (context == null) {
            throw new AssertionError("not on a device");
        }
        return context;
    }

    static ConnectionParameters parameters(QueuePair pair, int rnrRetries) {
        return new ConnectionParameters(pair, DEPTH, DEPTH, 5, rnrRetries, new byte[0]);
    }

    /** Checks the state that the device reports of a queue pair; siw of Linux 6.1 always reports RESET. */
    static void assertState(RdmaTestDevice device, QueuePair pair, QueuePair.State expected) {
        QueuePair.State state = pair.state();
        if (state != expected && !(device.isOf("siw") && state == QueuePair.State.RESET)) {
            throw new AssertionError(pair + " is in " + state + " instead of " + expected);
        }
    }

    /**
     * Waits until the bytes of a completed WRITE have arrived: on iWARP it completes when TCP has it, but a later READ
     * sees its bytes.
     */
    void awaitArrival(Memory local, Memory remote) {
        if (iwarp) {
            try (SendRequests read = new SendRequests(1, 1)) {
                read.read(99, local.at(0), 1, local.localKey(), remote.at(0), remote.remoteKey(), true);
                client.post(read);
                awaitSuccess(clientQueue, 99);
            }
        }
    }

    /** Polls until one completion arrives; it stays in the array. */
    static WorkCompletions await(CompletionQueue queue, WorkCompletions completions) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (queue.poll(completions) == 0) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("no completion within 30 s on " + queue);
            }
            Thread.onSpinWait();
        }
        return completions;
    }

    /** Waits for the next completion, which must be this one and have succeeded. */
    static void awaitSuccess(CompletionQueue queue, long id) {
        try (WorkCompletions one = new WorkCompletions(1)) {
            await(queue, one);
            if (one.workRequestId(0) != id || !one.succeeded(0)) {
                throw new AssertionError(
                        "request " + one.workRequestId(0) + " instead of " + id + " ended with " + one.status(0));
            }
        }
    }

    /** Waits for the next completion, which must be this one, and returns how it ended. */
    static CompletionStatus awaitStatus(CompletionQueue queue, long id) {
        try (WorkCompletions one = new WorkCompletions(1)) {
            await(queue, one);
            if (one.workRequestId(0) != id) {
                throw new AssertionError("request " + one.workRequestId(0) + " completed instead of " + id);
            }
            return one.status(0);
        }
    }

    @Override
    public void close() {
        clientId.disconnect();
        context.close();
        events.close();
    }
}
