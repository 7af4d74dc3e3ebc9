// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric;

import java.util.List;

/**
 * Requests that are started together, with one deadline.
 *
 * @param requests at least one
 * @param deadlineNanos {@link System#nanoTime()} after which a request that is not done fails
 * @param listener told of each request exactly once
 */
public record ReadBatch(List<ReadRequest> requests, long deadlineNanos, ReadListener listener) {
    public ReadBatch {
        requests = List.copyOf(requests);
        if (requests.isEmpty()) {
            throw new IllegalArgumentException("a batch without requests");
        }
    }

    /** Returns the bytes of all requests. */
    public long lengthBytes() {
        return requests.stream().mapToLong(ReadRequest::lengthBytes).sum();
    }

    /** Returns whether the deadline has passed. */
    public boolean isExpired() {
        return System.nanoTime() - deadlineNanos >= 0;
    }
}
