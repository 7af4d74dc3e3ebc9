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
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;

/**
 * Trial of the external shuffle service of this host: whether it serves bytes of the pool through a link. It may run as
 * another user, in a container with another file system, or with a version of its own.
 *
 * <p><b>Threading:</b> one thread; waits for the service.
 *
 * @param pool holds the bytes for a moment
 * @param files of the service
 * @param client fetches from the service
 * @param service address of the service for this executor, {@code BlockManager.shuffleServerId}
 */
record ServiceTrial(TieredPool pool, ServiceFiles files, BlockStoreClient client, BlockManagerId service) {
    private static final long MAP_ID = 0;
    private static final String BLOCK = "shuffle_" + ReservedShuffle.SHUFFLE_ID + "_" + MAP_ID + "_0";

    /**
     * Fetches a few random bytes of the pool from the service.
     *
     * @return why it cannot read them; empty if it can
     */
    Optional<String> run(Duration timeout) {
        ByteBuffer bytes = ByteBuffer.allocate(2 * Long.BYTES);
        UUID random = UUID.randomUUID();
        bytes.putLong(random.getMostSignificantBits())
                .putLong(random.getLeastSignificantBits())
                .flip();
        MapOutput output = null;
        try {
            output = store(bytes.array());
            if (output == null) {
                return Optional.of("the pool has no room for a trial");
            }
            if (!files.writeLink(ReservedShuffle.SHUFFLE_ID, output)) {
                return Optional.of("there are files of block " + BLOCK + " already");
            }
            return await(fetch(), timeout).equals(bytes) ? Optional.empty() : Optional.of("it served other bytes");
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            return Optional.of(String.valueOf(cause == null ? e.getMessage() : cause.getMessage()));
        } catch (TimeoutException e) {
            return Optional.of("no answer within " + timeout.toMillis() + " ms");
        } catch (IOException | RuntimeException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        } finally {
            files.remove(ReservedShuffle.SHUFFLE_ID, MAP_ID);
            if (output != null) {
                output.close();
            }
        }
    }

    /** Waits although the task that happens to be the first is killed: the result is for all later ones. */
    private static ByteBuffer await(CompletableFuture<ByteBuffer> answer, Duration timeout)
            throws ExecutionException, TimeoutException {
        long deadline = System.nanoTime() + timeout.toNanos();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return answer.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private @Nullable MapOutput store(byte[] bytes) throws IOException {
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

    private CompletableFuture<ByteBuffer> fetch() {
        CompletableFuture<ByteBuffer> answer = new CompletableFuture<>();
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
        client.fetchBlocks(service.host(), service.port(), service.executorId(), new String[] {BLOCK}, listener, null);
        return answer;
    }
}
