// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.jspecify.annotations.Nullable;

/**
 * Answers each block of one fetch exactly once, whatever path or deadline comes first.
 *
 * <p>Spark's iterator waits for answers without a deadline of its own, and counts a block twice that is answered twice.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class BlockAnswers {
    private final BlockFetchingListener listener;
    private final ShuffleCounters counters;
    private final Set<String> pending = ConcurrentHashMap.newKeySet();
    private volatile @Nullable Future<?> deadline;
    private volatile long lastAnswerNanos = System.nanoTime();

    BlockAnswers(List<String> blockIds, BlockFetchingListener listener, ShuffleCounters counters) {
        this.listener = listener;
        this.counters = counters;
        pending.addAll(blockIds);
    }

    /** Hands a block over; the caller keeps its reference, as {@link BlockFetchingListener} expects. */
    void succeeded(String blockId, ManagedBuffer block, ShuffleCounter path) {
        if (pending.remove(blockId)) {
            lastAnswerNanos = System.nanoTime();
            counters.add(path, block.size());
            listener.onBlockFetchSuccess(blockId, block);
            cancelIfComplete();
        }
    }

    /** Counts a block that is answered in another way, since what was read did not have its checksum. */
    void countChecksumFailure() {
        counters.add(ShuffleCounter.CHECKSUM_FAILURES, 1);
    }

    void failed(String blockId, Throwable cause) {
        if (pending.remove(blockId)) {
            listener.onBlockFetchFailure(blockId, cause);
            cancelIfComplete();
        }
    }

    /** Fails what has not been answered, because {@code reason}. */
    void failRest(String reason) {
        for (String blockId : pending) {
            failed(blockId, new IOException(blockId + ": " + reason));
        }
    }

    /** Returns how long nothing has been answered. */
    long idleNanos() {
        return System.nanoTime() - lastAnswerNanos;
    }

    boolean isComplete() {
        return pending.isEmpty();
    }

    /** Cancels the deadline as soon as everything is answered, so that nothing holds on to a finished fetch. */
    void cancelWhenComplete(Future<?> scheduled) {
        deadline = scheduled;
        cancelIfComplete();
    }

    private void cancelIfComplete() {
        Future<?> scheduled = deadline;
        if (scheduled != null && pending.isEmpty()) {
            scheduled.cancel(false);
        }
    }
}
