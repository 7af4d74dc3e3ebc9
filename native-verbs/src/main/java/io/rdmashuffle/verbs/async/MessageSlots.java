// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.Access;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.ObjIntConsumer;

/**
 * Messages of the memory service on a connection that sends and receives nothing else: as many places for them in
 * registered memory as may be under way in each direction.
 *
 * <p><b>Threading:</b> thread-safe, as long as each slot is used by one thread at a time.
 *
 * <p><b>Ownership:</b> owns its region, which goes when the connection has ended.
 */
final class MessageSlots {
    /** Requests under way on a connection: allocating takes much longer than a message does. */
    private static final int MAX_SLOTS = 8;

    private final RdmaConnection connection;
    private final LocalRegion region;
    private final int count;
    private final ObjIntConsumer<MemoryMessage> receiver;

    /**
     * Makes places for messages.
     *
     * @param receiver gets each message, with the slot that it came in, on the progress thread; receives into the slot
     *     go on with {@link #receive}
     */
    MessageSlots(Resources resources, RdmaConnection connection, ObjIntConsumer<MemoryMessage> receiver) {
        this.connection = connection;
        this.receiver = receiver;
        this.count = Math.min(MAX_SLOTS, resources.maxMessages());
        this.region = resources.allocate(2L * count * MemoryMessage.BYTES, Set.of(Access.LOCAL_WRITE));
        CompletableFuture<Void> unused =
                connection.ended().thenAccept(reason -> region.closeWhenUnused(LocalRegion.closeDeadline()));
    }

    /** Returns the number of slots per direction. */
    int count() {
        return count;
    }

    /** Posts a receive into each slot. */
    void start() {
        for (int slot = 0; slot < count; slot++) {
            receive(slot);
        }
    }

    /** Posts a receive into a slot, which is empty. */
    void receive(int slot) {
        guard(() -> {
            CompletableFuture<Void> unused = connection
                    .receive(region.slice((long) slot * MemoryMessage.BYTES, MemoryMessage.BYTES))
                    .thenAccept(message -> guard(() -> take(slot, message.lengthBytes())));
        });
    }

    private void take(int slot, int lengthBytes) {
        if (lengthBytes != MemoryMessage.BYTES) {
            throw new IllegalArgumentException("message of " + lengthBytes + " bytes");
        }
        receiver.accept(MemoryMessage.decode(region.get((long) slot * MemoryMessage.BYTES, MemoryMessage.BYTES)), slot);
    }

    /**
     * Sends a message from a slot, which is free again when the future completes.
     *
     * @throws java.util.concurrent.RejectedExecutionException if the connection has too much in flight
     */
    CompletableFuture<Void> send(int slot, MemoryMessage message) {
        long offset = (long) (count + slot) * MemoryMessage.BYTES;
        region.put(offset, message.encode());
        return connection.send(region.slice(offset, MemoryMessage.BYTES));
    }

    /** Ends the connection after a failure without a future, such as a protocol violation of the peer. */
    void guard(Runnable step) {
        try {
            step.run();
        } catch (RuntimeException e) {
            connection.fail(new IOException("memory service with " + connection.peer() + ": " + e.getMessage(), e));
        }
    }
}
