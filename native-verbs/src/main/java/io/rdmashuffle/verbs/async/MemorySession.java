// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A peer of a {@link MemoryServer}, with the memory that it was given.
 *
 * <p><b>Threading:</b> messages arrive on the progress thread; everything else happens on the server's worker.
 *
 * <p><b>Ownership:</b> owns the connection and the memory, which it frees when the connection has ended.
 */
final class MemorySession {
    private final MemoryBudget budget;
    private final Executor worker;
    private final Consumer<MemorySession> onEnd;
    private final Resources resources;
    private final RdmaConnection connection;
    private final MessageSlots messages;
    private final Map<Integer, Given> given = new HashMap<>();
    /** The last answer from each slot; the worker's. */
    private final List<CompletableFuture<Void>> answered;

    private boolean over;

    /** Memory of the peer, with its counted bytes. */
    private record Given(LocalRegion region, long countedBytes) {}

    /**
     * Prepares to serve a peer.
     *
     * @param worker allocates and frees; runs one task at a time
     * @param onEnd runs once the connection has ended
     */
    MemorySession(
            MemoryBudget budget,
            Executor worker,
            Consumer<MemorySession> onEnd,
            Resources resources,
            RdmaConnection connection) {
        this.budget = budget;
        this.worker = worker;
        this.onEnd = onEnd;
        this.resources = resources;
        this.connection = connection;
        this.messages = new MessageSlots(resources, connection, this::take);
        this.answered = new ArrayList<>(Collections.nCopies(messages.count(), CompletableFuture.completedFuture(null)));
    }

    void start() {
        messages.start();
        CompletableFuture<Void> unused = connection.ended().thenAccept(reason -> worker.execute(this::freeAll));
    }

    /** Ends the connection and frees all memory, without waiting. */
    void close() {
        connection.fail(new IOException("the memory server was closed"));
        worker.execute(this::freeAll);
    }

    private void take(MemoryMessage request, int slot) {
        worker.execute(() -> messages.guard(() -> {
            MemoryMessage answer = answer(request);
            answered.set(slot, answered.get(slot).thenCompose(sent -> answer(slot, answer)));
        }));
    }

    /** Receives before it sends: a peer that has the answer may ask again, and on iWARP must find a receive. */
    private CompletableFuture<Void> answer(int slot, MemoryMessage answer) {
        messages.receive(slot);
        try {
            return messages.send(slot, answer);
        } catch (RuntimeException e) {
            messages.guard(() -> {
                throw e;
            });
            return CompletableFuture.failedFuture(e);
        }
    }

    private MemoryMessage answer(MemoryMessage request) {
        return switch (request.type()) {
            case ALLOCATE -> allocate(request);
            case FREE -> {
                free(given.remove(request.id()));
                yield MemoryMessage.freed(request.id());
            }
            default -> throw new IllegalArgumentException("an answer to no question: " + request.type());
        };
    }

    private MemoryMessage allocate(MemoryMessage request) {
        int id = request.id();
        long lengthBytes = request.region().lengthBytes();
        if (given.containsKey(id)) {
            throw new IllegalArgumentException("allocation " + id + " exists");
        }
        if (over) {
            return MemoryMessage.refused(id, "the connection has ended");
        }
        long counted = budget.reserve(lengthBytes);
        if (counted == 0) {
            return MemoryMessage.refused(id, budget.describeRoom());
        }
        LocalRegion region = null;
        try {
            region = resources.allocate(lengthBytes, resources.allRights());
            given.put(id, new Given(region, counted));
            return MemoryMessage.granted(id, region.describe());
        } catch (NativeException e) {
            return MemoryMessage.refused(id, "the server cannot register it: " + Errno.describe(e.errno()));
        } catch (OutOfMemoryError e) {
            return MemoryMessage.refused(id, "the server cannot allocate it");
        } finally {
            if (region == null) {
                budget.giveBack(counted);
            }
        }
    }

    private void free(@Nullable Given memory) {
        if (memory != null) {
            // This process does not use it. If the device does not release it, it stays counted.
            memory.region().close();
            budget.giveBack(memory.countedBytes());
        }
    }

    private void freeAll() {
        over = true;
        onEnd.accept(this);
        Map<Integer, Given> left = Map.copyOf(given);
        given.clear();
        left.values().forEach(each -> messages.guard(() -> free(each)));
    }
}
