// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.jspecify.annotations.Nullable;

/**
 * Spark's block transfer with a deadline, for blocks that are not read one-sidedly.
 *
 * <p>Spark's fetch iterator waits for answers without a deadline, and counts a block twice that is answered twice. Here
 * each block of a fetch is answered exactly once, at the latest when no other block has arrived for the timeout.
 *
 * <p><b>Threading:</b> thread-safe. Listeners run on Netty's threads and on the timer's.
 *
 * <p><b>Ownership:</b> owns the timer thread; Spark's client is the caller's.
 */
public final class TransferClient implements AutoCloseable {
    private final BlockStoreClient transfer;
    private final ShuffleCounters counters;
    private final Duration timeout;
    private final ScheduledThreadPoolExecutor timer;

    /**
     * Creates the client of one executor.
     *
     * @param transfer Spark's own client
     * @param counters count the bytes that arrive
     * @param timeout after which a fetch fails in which nothing arrives, {@code spark.shuffle.rdma.fetch.timeout}
     */
    public TransferClient(BlockStoreClient transfer, ShuffleCounters counters, Duration timeout) {
        this.transfer = transfer;
        this.counters = counters;
        this.timeout = timeout;
        this.timer = new ScheduledThreadPoolExecutor(1, new DaemonThreads("deadline"));
        timer.setRemoveOnCancelPolicy(true);
        timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    /**
     * Returns a client for Spark's fetch iterator.
     *
     * @param isInFile selects the blocks, by id, that are counted as blocks of Spark's shuffle files
     */
    BlockStoreClient client(Predicate<String> isInFile) {
        return new Client(isInFile);
    }

    /** Fails no further fetch. */
    @Override
    public void close() {
        timer.shutdownNow();
    }

    private final class Client extends BlockStoreClient {
        private final Predicate<String> isInFile;

        Client(Predicate<String> isInFile) {
            this.isInFile = isInFile;
        }

        @Override
        public void fetchBlocks(
                String host,
                int port,
                String execId,
                String[] blockIds,
                BlockFetchingListener listener,
                @Nullable DownloadFileManager downloads) {
            Answers answers = new Answers(blockIds, listener, isInFile);
            try {
                // Downloads to disk may take longer than any fixed time; Spark's transport ends them when no data
                // arrives (spark.shuffle.io.connectionTimeout).
                if (downloads == null) {
                    answers.checkAfter(timeout.toNanos());
                }
                transfer.fetchBlocks(host, port, execId, blockIds, answers, downloads);
            } catch (RuntimeException e) {
                answers.failRest(e);
            }
        }

        @Override
        public Cause diagnoseCorruption(
                String host,
                int port,
                String execId,
                int shuffleId,
                long mapId,
                int reduceId,
                long checksum,
                String algorithm) {
            return transfer.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
        }

        @Override
        public void close() {}
    }

    /** Relays the first answer to each block of one fetch. */
    private final class Answers implements BlockFetchingListener {
        private final BlockFetchingListener listener;
        private final Predicate<String> isInFile;
        private final Set<String> pending = ConcurrentHashMap.newKeySet();
        private volatile @Nullable Future<?> check;
        private volatile long lastAnswerNanos = System.nanoTime();

        Answers(String[] blockIds, BlockFetchingListener listener, Predicate<String> isInFile) {
            this.listener = listener;
            this.isInFile = isInFile;
            pending.addAll(Arrays.asList(blockIds));
        }

        @Override
        public void onBlockFetchSuccess(String blockId, ManagedBuffer block) {
            if (pending.remove(blockId)) {
                lastAnswerNanos = System.nanoTime();
                counters.add(
                        isInFile.test(blockId) ? ShuffleCounter.FILE_BYTES : ShuffleCounter.NETTY_BYTES, block.size());
                listener.onBlockFetchSuccess(blockId, block);
                cancelCheckIfComplete();
            }
        }

        @Override
        public void onBlockFetchFailure(String blockId, Throwable cause) {
            if (pending.remove(blockId)) {
                listener.onBlockFetchFailure(blockId, cause);
                cancelCheckIfComplete();
            }
        }

        void failRest(Throwable cause) {
            pending.forEach(blockId -> onBlockFetchFailure(blockId, cause));
        }

        void checkAfter(long nanos) {
            check = timer.schedule(this::failIfIdle, nanos, TimeUnit.NANOSECONDS);
            cancelCheckIfComplete();
        }

        private void failIfIdle() {
            long left = timeout.toNanos() - (System.nanoTime() - lastAnswerNanos);
            if (left > 0) {
                checkAfter(left);
                return;
            }
            pending.forEach(blockId -> onBlockFetchFailure(
                    blockId,
                    new IOException(blockId + ": no answer for " + Quantities.duration(timeout)
                            + " (spark.shuffle.rdma.fetch.timeout)")));
        }

        /** Nothing holds on to a fetch that has ended. */
        private void cancelCheckIfComplete() {
            Future<?> scheduled = check;
            if (scheduled != null && pending.isEmpty()) {
                scheduled.cancel(false);
            }
        }
    }
}
