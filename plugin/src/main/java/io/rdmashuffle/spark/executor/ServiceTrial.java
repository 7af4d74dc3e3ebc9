// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.executor;

import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.shuffle.serve.ReservedShuffle;
import io.rdmashuffle.store.ChunkedOutput;
import io.rdmashuffle.store.ServiceFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Trial of the external shuffle service of this host: whether it serves bytes of the pool through a link. It may run as
 * another user, in a container with another file system, or with a version of its own.
 *
 * <p>Until it has succeeded, map outputs are copied for the service.
 *
 * <p><b>Threading:</b> thread-safe; ends on a thread of the transport, on the JDK's timer, or in {@link #close}.
 *
 * <p><b>Ownership:</b> owns a few bytes of the pool and their files until it ends.
 */
final class ServiceTrial implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ServiceTrial.class);

    private static final long MAP_ID = 0;
    private static final String BLOCK = "shuffle_" + ReservedShuffle.SHUFFLE_ID + "_" + MAP_ID + "_0";

    private final ServiceFiles files;
    private final CompletableFuture<ByteBuffer> answer = new CompletableFuture<>();
    private final CompletableFuture<Void> end;

    private ServiceTrial(ServiceFiles files, @Nullable MapOutput output, ByteBuffer bytes) {
        this.files = files;
        this.end = answer.handle((served, failure) -> {
            if (output != null) {
                files.remove(ReservedShuffle.SHUFFLE_ID, MAP_ID);
                output.close();
            }
            if (failure == null) {
                conclude(served.equals(bytes) ? null : "it served other bytes");
            } else if (!(failure instanceof CancellationException)) {
                conclude(failure instanceof TimeoutException ? "no answer in time" : failure.toString());
            }
            return null;
        });
    }

    /**
     * Fetches a few random bytes of the pool from the service; returns at once.
     *
     * @param files write links once the service has served these bytes
     * @param client fetches from the service
     * @param service address of the service for this executor, {@code BlockManager.shuffleServerId}
     * @param timeout within which the service must answer
     */
    static ServiceTrial start(
            TieredPool pool, ServiceFiles files, BlockStoreClient client, BlockManagerId service, Duration timeout) {
        ByteBuffer bytes = ByteBuffer.allocate(2 * Long.BYTES);
        UUID random = UUID.randomUUID();
        bytes.putLong(random.getMostSignificantBits())
                .putLong(random.getLeastSignificantBits())
                .flip();
        MapOutput output = null;
        boolean linked = false;
        String problem = null;
        try {
            output = store(pool, bytes.array());
            linked = output != null && files.writeLink(ReservedShuffle.SHUFFLE_ID, output);
            if (!linked) {
                problem = output == null
                        ? "the pool has no room for a trial"
                        : "there are files of block " + BLOCK + " already";
            }
        } catch (IOException | RuntimeException e) {
            problem = String.valueOf(e.getMessage());
        }
        if (!linked && output != null) {
            output.close();
            output = null;
        }
        ServiceTrial trial = new ServiceTrial(files, output, bytes);
        if (problem == null) {
            trial.answer.orTimeout(timeout.toMillis(), TimeUnit.MILLISECONDS);
            trial.fetch(client, service);
        } else {
            trial.answer.completeExceptionally(new IOException(problem));
        }
        return trial;
    }

    private static @Nullable MapOutput store(TieredPool pool, byte[] bytes) throws IOException {
        ChunkedOutput written = new ChunkedOutput(pool, bytes.length, bytes.length, false);
        try {
            long[] lengths = {bytes.length};
            return written.append(bytes, 0, bytes.length) < bytes.length
                    ? null
                    : written.toMapOutput(MAP_ID, lengths, written.checksums(lengths));
        } finally {
            // Holds nothing once the output has its bytes.
            written.discard();
        }
    }

    private void fetch(BlockStoreClient client, BlockManagerId service) {
        BlockFetchingListener listener = new BlockFetchingListener() {
            @Override
            public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
                try {
                    ByteBuffer shared = data.nioByteBuffer();
                    // The transport takes its buffer back after this call.
                    answer.complete(ByteBuffer.allocate(shared.remaining())
                            .put(shared.duplicate())
                            .flip());
                } catch (IOException e) {
                    answer.completeExceptionally(e);
                }
            }

            @Override
            public void onBlockFetchFailure(String blockId, Throwable cause) {
                answer.completeExceptionally(cause);
            }
        };
        try {
            client.fetchBlocks(
                    service.host(), service.port(), service.executorId(), new String[] {BLOCK}, listener, null);
        } catch (RuntimeException e) {
            answer.completeExceptionally(e);
        }
    }

    private void conclude(@Nullable String problem) {
        files.setLinks(problem == null);
        if (problem != null) {
            LOG.warn(
                    "The external shuffle service cannot read the pool's files: {}; map outputs are copied to shuffle"
                            + " files for it (spark.shuffle.rdma.outlive.enabled)",
                    problem);
        }
    }

    /** Waits for the result, but not for long: a service that cannot read the files is asked again several times. */
    void await(Duration limit) {
        try {
            end.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            LOG.debug("The external shuffle service has not answered within {} ms", limit.toMillis(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the trial of the external shuffle service failed", e);
        }
    }

    /** Ends the trial without a result if there is none yet. */
    @Override
    public void close() {
        answer.cancel(false);
        end.join();
    }
}
