// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor;

import io.rdmashuffle.fabric.ReadTimes;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.storage.StreamBlockId;
import scala.reflect.ClassTag$;

/**
 * Measurement of Spark's block transfer from another executor, block by block: of the two sizes that one-sided paths
 * are measured with.
 *
 * <p><b>Threading:</b> of one task thread.
 *
 * <p><b>Ownership:</b> the blocks of {@link #offer} lie in Spark's block manager until the application ends.
 */
final class NettyProbe {
    private static final int LARGE_BYTES = 256 << 10;
    private static final long TIMEOUT_SECONDS = 10;

    /** Of no stream that Spark has: its receivers count from 0. */
    private static final int STREAM = Integer.MAX_VALUE;

    private final BlockStoreClient transfer;
    private final BlockManagerId from;

    NettyProbe(BlockStoreClient transfer, BlockManagerId from) {
        this.transfer = transfer;
        this.from = from;
    }

    /** Puts the probe's blocks into this executor's block manager; they may exist already. */
    static void offer(SparkEnv env) {
        for (int bytes : new int[] {ReadTimes.SMALL_BYTES, LARGE_BYTES}) {
            env.blockManager()
                    .putBlockData(
                            block(bytes),
                            new NioManagedBuffer(ByteBuffer.allocate(bytes)),
                            StorageLevel.MEMORY_AND_DISK_SER(),
                            ClassTag$.MODULE$.apply(Byte.TYPE));
        }
    }

    private static BlockId block(int bytes) {
        return new StreamBlockId(STREAM, bytes);
    }

    /**
     * Fetches for about 0.4 s.
     *
     * @throws IOException if a fetch fails, or takes longer than 10 s
     */
    ReadTimes measure() throws IOException {
        return ReadTimes.measure(() -> fetch(ReadTimes.SMALL_BYTES), () -> fetch(LARGE_BYTES), LARGE_BYTES);
    }

    private void fetch(int bytes) throws IOException {
        CompletableFuture<Long> fetched = new CompletableFuture<>();
        transfer.fetchBlocks(
                from.host(),
                from.port(),
                from.executorId(),
                new String[] {block(bytes).name()},
                new BlockFetchingListener() {
                    @Override
                    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
                        fetched.complete(data.size());
                    }

                    @Override
                    public void onBlockFetchFailure(String blockId, Throwable failure) {
                        fetched.completeExceptionally(failure);
                    }
                },
                null);
        try {
            long size = fetched.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
            if (size != bytes) {
                throw new IOException("a block of " + bytes + " bytes came with " + size);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while fetching from " + from);
        } catch (TimeoutException e) {
            throw new IOException("no answer from " + from + " within " + TIMEOUT_SECONDS + " s", e);
        } catch (ExecutionException e) {
            throw new IOException(String.valueOf(e.getCause()), e);
        }
    }
}
