// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.RawMemory;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.ofi.OfiEndpoint;
import io.rdmashuffle.ofi.OfiRegion;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Messages of a rail: its first slots receive, the next ones send.
 *
 * <p>A message that cannot be sent is tried again, after a pause if a connection below has ended, until the time to
 * connect is over. A peer that takes nothing does not hold up messages to others.
 *
 * <p><b>Threading:</b> the thread of the rail.
 *
 * <p><b>Ownership:</b> owns the memory of the messages, and its registration.
 */
final class RailMessages {
    private static final Logger LOG = LoggerFactory.getLogger(RailMessages.class);

    private static final int RECEIVES = 32;
    private static final int SENDS = 32;
    /** Slots of an endpoint that messages use, from 0 on. */
    static final int SLOTS = RECEIVES + SENDS;

    private static final int MAX_SENDS_TO_PEER = 2;
    /** More wait only if peers accept none. */
    private static final int MAX_WAITING = 4096;

    private static final int TRIED_AT_ONCE = 16;
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MAX_DOUBLINGS = 6;

    private final OfiEndpoint endpoint;
    private final ToLongFunction<OfiAddress.Endpoint> addresses;
    private final long connectNanos;
    private final Listener listener;
    private final NativeBuffer memory = NativeBuffer.ofPages((long) SLOTS * OfiMessage.MAX_BYTES);
    private final OfiRegion region;
    private final @Nullable Outgoing[] sending = new @Nullable Outgoing[SENDS];
    private final ArrayDeque<Integer> freeSends = new ArrayDeque<>();
    private final ArrayDeque<Integer> unposted = new ArrayDeque<>();
    private final ArrayDeque<Outgoing> outgoing = new ArrayDeque<>();

    /** Receiver of messages, and of the ends of sent ones. */
    interface Listener {
        void received(OfiMessage message);

        /** The provider has sent it; it may be lost even so. */
        void sent(OfiMessage message);

        void notSent(OfiMessage message, String why);
    }

    /** A message that has not been sent. */
    private static final class Outgoing {
        private final OfiMessage message;
        private final OfiAddress.Endpoint to;
        private final long startedNanos = System.nanoTime();
        private int failures;
        private long nextNanos = startedNanos;

        Outgoing(OfiMessage message, OfiAddress.Endpoint to) {
            this.message = message;
            this.to = to;
        }
    }

    /**
     * Registers the memory.
     *
     * @param addresses how operations name an endpoint
     * @param connectTimeout time in which a peer must take a message
     * @throws NativeException if the provider refuses
     */
    RailMessages(
            OfiEndpoint endpoint,
            ToLongFunction<OfiAddress.Endpoint> addresses,
            Duration connectTimeout,
            Listener listener) {
        this.endpoint = endpoint;
        this.addresses = addresses;
        this.connectNanos = connectTimeout.toNanos();
        this.listener = listener;
        try {
            this.region = endpoint.registerLocal(memory.address(), memory.lengthBytes());
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, memory);
            throw failure;
        }
        for (int i = 0; i < SENDS; i++) {
            freeSends.add(i);
        }
        for (int i = 0; i < RECEIVES; i++) {
            unposted.add(i);
        }
    }

    /** Sends a message, soon. */
    void send(OfiMessage message, OfiAddress.Endpoint to) {
        if (outgoing.size() < MAX_WAITING) {
            outgoing.add(new Outgoing(message, to));
        } else {
            listener.notSent(message, "too many messages wait");
        }
    }

    /** Returns whether messages wait to be sent. */
    boolean isBusy() {
        return !outgoing.isEmpty();
    }

    /** Returns the number of messages that are being sent to an endpoint. */
    int sendingTo(OfiAddress.Endpoint peer) {
        int count = 0;
        for (Outgoing each : sending) {
            count += each != null && each.to.equals(peer) ? 1 : 0;
        }
        return count;
    }

    /** Posts buffers for messages, and messages that wait. */
    void post() {
        while (!unposted.isEmpty()
                && endpoint.receive(unposted.element(), region, address(unposted.element()), OfiMessage.MAX_BYTES)) {
            unposted.remove();
        }
        for (int i = Math.min(outgoing.size(), TRIED_AT_ONCE); i > 0; i--) {
            trySend(outgoing.remove());
        }
    }

    private void trySend(Outgoing next) {
        long now = System.nanoTime();
        try {
            boolean mayBeSent =
                    !freeSends.isEmpty() && now - next.nextNanos >= 0 && sendingTo(next.to) < MAX_SENDS_TO_PEER;
            if (mayBeSent && begin(next)) {
                return;
            }
        } catch (NativeException e) {
            listener.notSent(next.message, String.valueOf(e.getMessage()));
            return;
        }
        if (now - next.startedNanos > connectNanos) {
            listener.notSent(next.message, "it takes no message");
        } else {
            outgoing.add(next);
        }
    }

    private boolean begin(Outgoing next) {
        int index = freeSends.element();
        int slot = RECEIVES + index;
        ByteBuffer bytes = RawMemory.wrap(address(slot), OfiMessage.MAX_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        next.message.encode(bytes);
        if (!endpoint.send(slot, region, address(slot), bytes.position(), addresses.applyAsLong(next.to))) {
            return false;
        }
        freeSends.remove();
        sending[index] = next;
        return true;
    }

    private long address(int slot) {
        return memory.address((long) slot * OfiMessage.MAX_BYTES);
    }

    /** Takes the end of an operation of a slot. */
    void completed(int slot, int length) {
        if (slot >= RECEIVES) {
            Outgoing done = take(slot - RECEIVES);
            if (done != null) {
                listener.sent(done.message);
            }
            return;
        }
        try {
            listener.received(OfiMessage.decode(RawMemory.wrap(address(slot), Math.min(length, OfiMessage.MAX_BYTES))));
        } catch (PeerUnreachableException e) {
            LOG.debug("A peer has sent no message of this version", e);
        }
        unposted.add(slot);
    }

    /** Takes the failure of an operation of a slot: the next connection below may be sound. */
    void failed(int slot, String why) {
        if (slot < RECEIVES) {
            LOG.debug("A receive failed on {}: {}", endpoint, why);
            unposted.add(slot);
            return;
        }
        Outgoing lost = take(slot - RECEIVES);
        if (lost == null) {
            return;
        }
        long now = System.nanoTime();
        if (now - lost.startedNanos > connectNanos) {
            listener.notSent(lost.message, why);
        } else {
            lost.nextNanos = now + (FIRST_PAUSE_NANOS << Math.min(lost.failures, MAX_DOUBLINGS));
            lost.failures++;
            outgoing.add(lost);
        }
    }

    private @Nullable Outgoing take(int index) {
        Outgoing done = sending[index];
        sending[index] = null;
        freeSends.add(index);
        return done;
    }

    /** Ends the registration, before the endpoint is closed. */
    void unregister() {
        region.close();
    }

    /** Frees the memory, after the endpoint has been closed. */
    void free() {
        memory.close();
    }
}
