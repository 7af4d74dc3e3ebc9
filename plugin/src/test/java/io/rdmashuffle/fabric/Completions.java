// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.ReadFailedException.Reason;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Counts outcomes of requests; the targets of successful ones are the caller's. */
public final class Completions implements ReadRequest.Listener {
    private final IdentityHashMap<ReadRequest, Integer> calls = new IdentityHashMap<>();
    private final IdentityHashMap<ReadRequest, ReadFailedException> failures = new IdentityHashMap<>();

    @Override
    public synchronized void succeeded(ReadRequest request) {
        calls.merge(request, 1, Integer::sum);
        notifyAll();
    }

    @Override
    public synchronized void failed(ReadRequest request, ReadFailedException failure) {
        failures.put(request, failure);
        calls.merge(request, 1, Integer::sum);
        notifyAll();
    }

    /** Waits until all of the requests have ended, each once. */
    public synchronized void await(List<ReadRequest> requests) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!requests.stream().allMatch(calls::containsKey) && System.nanoTime() - end < 0) {
            wait(100);
        }
        assertThat(requests)
                .allSatisfy(
                        request -> assertThat(calls.get(request)).as("calls").isEqualTo(1));
    }

    public synchronized int ended() {
        return calls.size();
    }

    public synchronized boolean succeededOne(ReadRequest request) {
        return calls.containsKey(request) && !failures.containsKey(request);
    }

    /** Returns why a request has failed; null if it has not. */
    public synchronized @Nullable ReadFailedException failure(ReadRequest request) {
        return failures.get(request);
    }

    public synchronized Reason reason(ReadRequest request) {
        ReadFailedException failure = failures.get(request);
        if (failure == null) {
            throw new AssertionError("the request did not fail");
        }
        return failure.reason();
    }
}
