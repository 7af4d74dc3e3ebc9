// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * An operation that is posted once, and completes a future.
 *
 * @param <T> what success brings
 */
final class FutureOperation<T> extends Operation {
    private final CompletableFuture<T> future = new CompletableFuture<>();
    private final Supplier<T> result;

    /**
     * Describes an operation.
     *
     * @param result makes what success brings, when the work has taken its result
     */
    FutureOperation(Work work, Supplier<T> result) {
        super(work);
        this.result = result;
    }

    /** Returns an operation that brings nothing but its success. */
    static FutureOperation<Void> of(Work work) {
        return new FutureOperation<>(work, FutureOperation::nothing);
    }

    @SuppressWarnings("NullAway") // a future of Void knows only null
    private static Void nothing() {
        return null;
    }

    CompletableFuture<T> future() {
        return future;
    }

    /** A batch sees to it that it is posted once. */
    @Override
    void claim() {}

    @Override
    void unclaim() {}

    @Override
    void succeeded() {
        future.complete(result.get());
    }

    @Override
    void failed(Throwable reason) {
        future.completeExceptionally(reason);
    }

    @Override
    void refuse(Throwable reason, Progress progress) {
        fail(reason);
    }
}
