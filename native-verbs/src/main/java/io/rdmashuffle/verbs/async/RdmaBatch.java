// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;

/**
 * Operations of one connection that are posted together, with one doorbell, in the order in which they were added.
 *
 * <p>Until {@link #post()} nothing has happened and the memory is in no use: a batch that is dropped costs nothing, and
 * its futures never complete. The device works on a batch as on operations posted one by one: in order, except that a
 * WRITE or SEND does not wait for a READ before it.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> keeps regions open from {@link #post()} on.
 */
public final class RdmaBatch extends RdmaOperations {
    private final ConnectionState state;
    private final List<FutureOperation<?>> added = new ArrayList<>();
    private boolean posted;

    RdmaBatch(ConnectionState state, Requests requests) {
        super(requests);
        this.state = state;
    }

    @Override
    <T> CompletableFuture<T> submit(FutureOperation<T> operation) {
        if (posted) {
            throw new IllegalStateException("this batch was posted; ask the connection for another");
        }
        added.add(operation);
        return operation.future();
    }

    /** {@return how many operations were added} */
    public int size() {
        return added.size();
    }

    /**
     * Posts all operations, or none if this throws; it may then be called again.
     *
     * @return completes when all have succeeded, or with the first failure once all have ended; each operation has its
     *     own future
     * @throws RejectedExecutionException if more operations would be in flight than the endpoint allows
     * @throws IllegalStateException if a region is closed, or the batch was posted before
     */
    public CompletableFuture<Void> post() {
        if (posted) {
            throw new IllegalStateException("this batch was posted already");
        }
        state.post(added);
        posted = true;
        return CompletableFuture.allOf(
                added.stream().map(FutureOperation::future).toArray(CompletableFuture<?>[]::new));
    }
}
