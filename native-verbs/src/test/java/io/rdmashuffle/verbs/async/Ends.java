// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/** Keeps what a handler was told: the name of the thread that told of a success, or the failure. */
final class Ends implements PreparedOperation.Handler {
    private final BlockingQueue<Object> ends = new LinkedBlockingQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final Consumer<PreparedOperation> onSuccess;
    private final Consumer<PreparedOperation> onFailure;

    Ends() {
        this(operation -> {});
    }

    Ends(Consumer<PreparedOperation> onSuccess) {
        this(onSuccess, operation -> {});
    }

    /** Does something, after it has taken note. */
    Ends(Consumer<PreparedOperation> onSuccess, Consumer<PreparedOperation> onFailure) {
        this.onSuccess = onSuccess;
        this.onFailure = onFailure;
    }

    @Override
    public void succeeded(PreparedOperation operation) {
        note(Thread.currentThread().getName());
        onSuccess.accept(operation);
    }

    @Override
    public void failed(PreparedOperation operation, Throwable reason) {
        note(reason);
        onFailure.accept(operation);
    }

    private void note(Object end) {
        count.incrementAndGet();
        ends.add(end);
    }

    /** Returns how many ends there have been. */
    int count() {
        return count.get();
    }

    /** Returns the ends that were not taken yet. */
    List<Object> all() {
        return List.copyOf(ends);
    }

    /** Takes the next end. */
    Object next() throws InterruptedException {
        Object end = ends.poll(60, TimeUnit.SECONDS);
        if (end == null) {
            throw new AssertionError("the handler was not called within 60 s");
        }
        return end;
    }

    void awaitSuccess() throws InterruptedException {
        if (next() instanceof Throwable failure) {
            throw new AssertionError("failed", failure);
        }
    }

    Throwable awaitFailure() throws InterruptedException {
        if (next() instanceof Throwable failure) {
            return failure;
        }
        throw new AssertionError("succeeded");
    }
}
