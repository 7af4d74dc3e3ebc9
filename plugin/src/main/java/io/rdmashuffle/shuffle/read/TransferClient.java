// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.apache.spark.ExecutorDeadException;
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
 * <p>Blocks of an executor that has ended are fetched from its heir. If a connection fails, they wait until it is known
 * whether there is one. Spark's client tries a failed connection again after 5 s
 * ({@code spark.shuffle.io.retryWait}); blocks do not wait for that once there is an heir.
 *
 * <p><b>Threading:</b> thread-safe. Listeners run on Netty's threads and on the timer's.
 *
 * <p><b>Ownership:</b> owns the timer thread; Spark's client is the caller's.
 */
public final class TransferClient implements AutoCloseable {
    /** How often a fetch that is under way looks for an heir. */
    private static final Duration LOOK = Duration.ofMillis(500);

    private final BlockStoreClient transfer;
    private final ShuffleCounters counters;
    private final Duration timeout;
    private final ScheduledThreadPoolExecutor timer;
    private final Heirs heirs;

    /** Executors that serve the blocks of others, which have ended. */
    public interface Heirs {
        /** No executor has one. */
        Heirs NONE = new Heirs() {
            @Override
            public Optional<Heir> of(String executorId) {
                return Optional.empty();
            }

            @Override
            public CompletableFuture<Optional<Heir>> await(String executorId, String tried) {
                return CompletableFuture.completedFuture(Optional.empty());
            }
        };

        /** Returns the heir of an executor, as far as it is known; waits for nothing. */
        Optional<Heir> of(String executorId);

        /**
         * Finds the heir of an executor to which a connection failed.
         *
         * @param tried executor that was asked in vain
         * @return completes within a deadline, empty if there is no heir but that one
         */
        CompletableFuture<Optional<Heir>> await(String executorId, String tried);
    }

    /** Executor that serves blocks of another, with the address of its block transfer. */
    public record Heir(String executorId, String host, int port) {}

    /**
     * Creates the client of one executor.
     *
     * @param transfer Spark's own client
     * @param counters count the bytes that arrive
     * @param timeout after which a fetch fails in which nothing arrives, {@code spark.shuffle.rdma.fetch.timeout}
     * @param heirs of executors that have ended
     */
    public TransferClient(BlockStoreClient transfer, ShuffleCounters counters, Duration timeout, Heirs heirs) {
        this.transfer = transfer;
        this.counters = counters;
        this.timeout = timeout;
        this.heirs = heirs;
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
            Heir from = heirs.of(execId).orElseGet(() -> new Heir(execId, host, port));
            Answers answers = new Answers(blockIds, execId, from, listener, isInFile, downloads);
            try {
                answers.checkLater();
                answers.ask(from, blockIds);
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
    private final class Answers {
        private final String owner;
        private final BlockFetchingListener listener;
        private final Predicate<String> isInFile;
        private final @Nullable DownloadFileManager downloads;
        /** Blocks without an answer, each with the executor that was asked last. */
        private final Map<String, Heir> pending = new ConcurrentHashMap<>();

        private volatile @Nullable Future<?> check;
        private volatile long lastAnswerNanos = System.nanoTime();

        Answers(
                String[] blockIds,
                String owner,
                Heir from,
                BlockFetchingListener listener,
                Predicate<String> isInFile,
                @Nullable DownloadFileManager downloads) {
            this.owner = owner;
            this.listener = listener;
            this.isInFile = isInFile;
            this.downloads = downloads;
            for (String blockId : blockIds) {
                pending.put(blockId, from);
            }
        }

        void ask(Heir from, String[] blockIds) {
            transfer.fetchBlocks(
                    from.host(), from.port(), from.executorId(), blockIds, new Attempt(this, from), downloads);
        }

        /** Asks another executor for those of the blocks that are pending and that it was not asked for last. */
        void askNext(Heir from, Collection<String> blockIds) {
            String[] left = blockIds.stream()
                    .filter(blockId -> {
                        Heir before = pending.replace(blockId, from);
                        return before != null && !before.equals(from);
                    })
                    .toArray(String[]::new);
            try {
                if (left.length > 0) {
                    ask(from, left);
                }
            } catch (RuntimeException e) {
                failRest(e);
            }
        }

        void succeed(String blockId, ManagedBuffer block) {
            if (pending.remove(blockId) != null) {
                lastAnswerNanos = System.nanoTime();
                counters.add(
                        isInFile.test(blockId) ? ShuffleCounter.FILE_BYTES : ShuffleCounter.NETTY_BYTES, block.size());
                listener.onBlockFetchSuccess(blockId, block);
                cancelCheckIfComplete();
            }
        }

        void fail(String blockId, Throwable cause) {
            if (pending.remove(blockId) != null) {
                listener.onBlockFetchFailure(blockId, cause);
                cancelCheckIfComplete();
            }
        }

        void failRest(Throwable cause) {
            pending.keySet().forEach(blockId -> fail(blockId, cause));
        }

        /**
         * Downloads to disk may take longer than any fixed time; Spark's transport ends them when no data arrives
         * ({@code spark.shuffle.io.connectionTimeout}).
         */
        void checkLater() {
            long left = downloads != null ? Long.MAX_VALUE : timeout.toNanos() - (System.nanoTime() - lastAnswerNanos);
            long delay = heirs == Heirs.NONE ? left : Math.min(left, LOOK.toNanos());
            if (delay < Long.MAX_VALUE) {
                check = timer.schedule(this::check, delay, TimeUnit.NANOSECONDS);
                cancelCheckIfComplete();
            }
        }

        private void check() {
            if (downloads == null && System.nanoTime() - lastAnswerNanos >= timeout.toNanos()) {
                pending.keySet()
                        .forEach(blockId -> fail(
                                blockId,
                                new IOException(blockId + ": no answer for " + Quantities.duration(timeout)
                                        + " (spark.shuffle.rdma.fetch.timeout)")));
                return;
            }
            checkLater();
            if (heirs.of(owner).filter(this::isNews).isPresent()) {
                // Not asked here: to connect may take longer than other fetches can wait for this thread.
                CompletableFuture<Void> unused = heirs.await(owner, owner)
                        .thenAccept(heir -> heir.ifPresent(found -> askNext(found, pending.keySet())));
            }
        }

        /** Returns whether an heir was not asked for all blocks. */
        private boolean isNews(Heir heir) {
            return !pending.values().stream().allMatch(heir::equals);
        }

        /** Nothing holds on to a fetch that has ended. */
        private void cancelCheckIfComplete() {
            Future<?> scheduled = check;
            if (scheduled != null && pending.isEmpty()) {
                scheduled.cancel(false);
            }
        }
    }

    /** Fetch of blocks from one executor, after whose failure its heir is asked. */
    private final class Attempt implements BlockFetchingListener {
        private final Answers answers;
        private final Heir from;
        /** Blocks that wait for an heir, with the failure of their connection; guarded by itself. */
        private final Map<String, Throwable> waiting = new LinkedHashMap<>();

        Attempt(Answers answers, Heir from) {
            this.answers = answers;
            this.from = from;
        }

        @Override
        public void onBlockFetchSuccess(String blockId, ManagedBuffer block) {
            answers.succeed(blockId, block);
        }

        @Override
        public void onBlockFetchFailure(String blockId, Throwable cause) {
            // An heir that ends, or is none any more, answers that it has no such block.
            boolean mayBeElsewhere = cause instanceof IOException
                    || cause instanceof ExecutorDeadException
                    || !from.executorId().equals(answers.owner);
            if (!isAskedFor(blockId)) {
                return;
            }
            if (!mayBeElsewhere) {
                answers.fail(blockId, cause);
                return;
            }
            boolean first;
            synchronized (waiting) {
                first = waiting.isEmpty();
                waiting.put(blockId, cause);
            }
            if (first) {
                CompletableFuture<Void> unused = heirs.await(answers.owner, from.executorId())
                        .exceptionally(failure -> Optional.empty())
                        .thenAccept(this::fetchWaiting);
            }
        }

        /** Returns whether a block is not answered, and no other executor has been asked for it since. */
        private boolean isAskedFor(String blockId) {
            return from.equals(answers.pending.get(blockId));
        }

        private void fetchWaiting(Optional<Heir> heir) {
            Map<String, Throwable> blocks;
            synchronized (waiting) {
                blocks = new LinkedHashMap<>(waiting);
                waiting.clear();
            }
            if (heir.isEmpty()) {
                blocks.forEach((blockId, cause) -> {
                    if (isAskedFor(blockId)) {
                        answers.fail(blockId, cause);
                    }
                });
                return;
            }
            answers.askNext(heir.get(), blocks.keySet());
        }
    }
}
