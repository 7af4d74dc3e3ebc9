// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.spark.rpc;

import io.rdmashuffle.lifecycle.DaemonThreads;
import io.rdmashuffle.registry.Member;
import io.rdmashuffle.registry.PeerChannel;
import io.rdmashuffle.registry.RegistryCodec;
import io.rdmashuffle.registry.RegistryCodecException;
import io.rdmashuffle.registry.RegistryMessage;
import io.rdmashuffle.registry.RegistryUnavailableException;
import io.rdmashuffle.shuffle.serve.ReservedShuffle;
import io.rdmashuffle.spark.compat.ScalaFutures;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.ShuffleDataBlockId;
import org.apache.spark.storage.StorageLevel;
import scala.reflect.ClassTag$;

/**
 * Sender of registry messages to other executors over Spark's block transfer, as blocks of the {@link ReservedShuffle}.
 *
 * <p><b>Threading:</b> thread-safe. Spark connects on the thread that sends, which may take as long as {@code
 * spark.network.timeout} where a host is gone, so everything is sent by a few daemon threads; while all of them wait,
 * further messages fail at their deadlines, or at once when the queue is full.
 *
 * <p><b>Ownership:</b> owns the threads. The block transfer is Spark's.
 */
public final class PeerTransfer implements PeerChannel, AutoCloseable {
    private static final int THREADS = 4;
    private static final int MAX_QUEUED = 1024;
    private static final Duration PUSH_TIMEOUT = Duration.ofSeconds(5);

    private final BlockTransferService transfer;
    private final RegistryCodec codec;
    private final AtomicLong pushes = new AtomicLong();
    private final ThreadPoolExecutor senders;

    /** Starts no thread before the first message. */
    public PeerTransfer(BlockTransferService transfer, RegistryCodec codec) {
        this.transfer = transfer;
        this.codec = codec;
        this.senders = new ThreadPoolExecutor(
                THREADS,
                THREADS,
                1,
                TimeUnit.MINUTES,
                new ArrayBlockingQueue<>(MAX_QUEUED),
                new DaemonThreads("registry-send"));
        senders.allowCoreThreadTimeOut(true);
    }

    /** Returns an executor for small tasks that may wait for peers. */
    public Executor threads() {
        return senders;
    }

    @Override
    public CompletableFuture<Void> push(Member to, RegistryMessage message) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        run(done, () -> upload(to, message, done));
        return done.orTimeout(PUSH_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void upload(Member to, RegistryMessage message, CompletableFuture<Void> done) {
        PeerAddress address = PeerAddress.of(to);
        ManagedBuffer bytes = new NioManagedBuffer(ByteBuffer.wrap(codec.encode(message)));
        ShuffleDataBlockId blockId = new ShuffleDataBlockId(ReservedShuffle.SHUFFLE_ID, pushes.getAndIncrement(), 0);
        var unused = ScalaFutures.toJava(transfer.uploadBlock(
                        address.host(),
                        address.port(),
                        to.executorId(),
                        blockId,
                        bytes,
                        StorageLevel.MEMORY_ONLY(),
                        ClassTag$.MODULE$.apply(Byte.TYPE)))
                .whenComplete((answer, failure) -> {
                    if (failure == null) {
                        done.complete(null);
                    } else {
                        done.completeExceptionally(failure);
                    }
                });
    }

    @Override
    public RegistryMessage pull(Member from, long atLeast, Duration timeout) throws RegistryUnavailableException {
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        run(answer, () -> fetch(from, atLeast, answer));
        try {
            return codec.decode(answer.get(timeout.toMillis(), TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new RegistryUnavailableException("interrupted while waiting for " + from, e);
        } catch (ExecutionException | TimeoutException | RegistryCodecException e) {
            throw new RegistryUnavailableException(from + " does not answer", e);
        }
    }

    private void fetch(Member from, long atLeast, CompletableFuture<byte[]> answer) {
        PeerAddress address = PeerAddress.of(from);
        String[] blocks = {new ShuffleBlockId(ReservedShuffle.SHUFFLE_ID, atLeast, 0).name()};
        transfer.fetchBlocks(
                address.host(),
                address.port(),
                from.executorId(),
                blocks,
                new BlockFetchingListener() {
                    @Override
                    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
                        try {
                            ByteBuffer buffer = data.nioByteBuffer();
                            byte[] bytes = new byte[buffer.remaining()];
                            buffer.get(bytes);
                            answer.complete(bytes);
                        } catch (IOException | RuntimeException e) {
                            answer.completeExceptionally(e);
                        }
                    }

                    @Override
                    public void onBlockFetchFailure(String blockId, Throwable failure) {
                        answer.completeExceptionally(failure);
                    }
                },
                null);
    }

    /** Whatever goes wrong before Spark takes over ends the future. */
    private void run(CompletableFuture<?> done, Runnable send) {
        try {
            senders.execute(() -> {
                try {
                    if (!done.isDone()) {
                        send.run();
                    }
                } catch (Exception e) {
                    // Spark throws IOException and InterruptedException without declaring them.
                    done.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            done.completeExceptionally(e);
        }
    }

    /** Ends the threads; messages in flight fail. Idempotent. */
    @Override
    public void close() {
        senders.shutdownNow();
    }
}
