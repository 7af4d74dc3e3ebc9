// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryMessage.MoveToDisk;
import io.rdmashuffle.registry.RegistryMessage.Refused;
import io.rdmashuffle.registry.RegistryMessage.Taken;
import io.rdmashuffle.store.ServiceCopies;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves map outputs of ended executors of this host from their pools to disk, where the external shuffle service serves
 * them as before. The driver asks for it when the pools of ended executors hold too much memory.
 *
 * <p><b>Threading:</b> thread-safe; one thread moves, and ends when it has nothing to do.
 *
 * <p><b>Ownership:</b> owns the thread. Closing refuses all requests that are not done.
 *
 * <p><b>Source:</b> {@code BlockStoreClient.getHostLocalDirs} (SPARK-27651).
 */
final class OutputMover implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(OutputMover.class);
    /** The driver asks for one pool after another, but may not wait for one that takes minutes. */
    private static final int MAX_WAITING = 4;

    private static final long IDLE_SECONDS = 10;

    private final BlockStoreClient client;
    private final BlockManagerId service;
    private final Duration timeout;
    private final long minFreeBytes;
    private final ThreadPoolExecutor thread = new ThreadPoolExecutor(
            1,
            1,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MAX_WAITING),
            new DaemonThreads("output-mover"));

    private volatile boolean closed;

    /**
     * Starts no thread yet.
     *
     * @param client of the service
     * @param service of this host
     * @param timeout within which the service must say where an executor has its files
     * @param minFreeBytes that remain on disk
     */
    OutputMover(BlockStoreClient client, BlockManagerId service, Duration timeout, long minFreeBytes) {
        this.client = client;
        this.service = service;
        this.timeout = timeout;
        this.minFreeBytes = minFreeBytes;
        thread.allowCoreThreadTimeOut(true);
    }

    /** Moves outputs of an executor that has ended; the answer is {@link Taken} or {@link Refused}. */
    CompletableFuture<RegistryMessage> move(MoveToDisk request) {
        CompletableFuture<RegistryMessage> answer = new CompletableFuture<>();
        try {
            thread.execute(() -> answer.complete(moveNow(request.executorId(), request.shuffleIds())));
        } catch (RejectedExecutionException e) {
            answer.complete(new Refused("this executor ends, or has too many pools to empty"));
        }
        return answer;
    }

    private RegistryMessage moveNow(String executorId, Set<Integer> shuffleIds) {
        if (closed) {
            return new Refused("this executor ends");
        }
        try {
            int moved = new ServiceCopies(directoriesOf(executorId), minFreeBytes).replaceLinks(shuffleIds);
            LOG.info("Moved {} map outputs of ended executor {} to disk", moved, executorId);
            return new Taken();
        } catch (IOException | RuntimeException e) {
            LOG.info("Cannot move the map outputs of ended executor {} to disk", executorId, e);
            return new Refused(String.valueOf(e));
        }
    }

    private List<Path> directoriesOf(String executorId) throws IOException {
        CompletableFuture<Map<String, String[]>> answer = new CompletableFuture<>();
        client.getHostLocalDirs(service.host(), service.port(), new String[] {executorId}, answer);
        try {
            String[] directories =
                    answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS).get(executorId);
            if (directories == null || directories.length == 0) {
                throw new IOException("the external shuffle service does not know executor " + executorId);
            }
            return Arrays.stream(directories).map(Path::of).toList();
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException(
                    "the external shuffle service does not say where executor " + executorId + " has its files", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("this executor ends", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.shutdownNow().forEach(Runnable::run);
    }
}
