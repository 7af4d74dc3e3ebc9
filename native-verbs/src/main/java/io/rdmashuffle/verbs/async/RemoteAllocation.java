// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Memory of a peer that is this side's to read and write until it is closed.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> the caller of {@link RemoteMemory#allocate} closes it, once nothing that names its region is in
 * flight; the peer frees it too when the connection ends.
 */
public final class RemoteAllocation implements AutoCloseable {
    private final Supplier<CompletableFuture<MemoryMessage>> giveBack;
    private final RemoteRegion region;
    private final AtomicReference<@Nullable CompletableFuture<Void>> freed = new AtomicReference<>();

    /** Memory that {@code giveBack} asks the peer to free. */
    RemoteAllocation(RemoteRegion region, Supplier<CompletableFuture<MemoryMessage>> giveBack) {
        this.giveBack = giveBack;
        this.region = region;
    }

    /**
     * {@return the memory, for operations on connections to the same endpoint; zeroed initially}
     *
     * @throws IllegalStateException after it was released
     */
    public RemoteRegion region() {
        if (freed.get() != null) {
            throw new IllegalStateException("allocation of " + region + " is closed");
        }
        return region;
    }

    /**
     * Releases the memory; later requests that name it fail, and end their connection.
     *
     * @return completes when the peer has freed it, also if that is because the connection ended; the same one at each
     *     call
     */
    public CompletableFuture<Void> free() {
        CompletableFuture<Void> mine = new CompletableFuture<>();
        CompletableFuture<Void> before = freed.compareAndExchange(null, mine);
        if (before != null) {
            return before.copy();
        }
        CompletableFuture<MemoryMessage> unused = giveBack.get().whenComplete((answer, ended) -> mine.complete(null));
        return mine.copy();
    }

    /** Releases the memory without waiting; idempotent. */
    @Override
    public void close() {
        CompletableFuture<Void> unused = free();
    }

    @Override
    public String toString() {
        return "allocation of " + region;
    }
}
