// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.fabric.ReadBatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadListener;
import io.rdmashuffle.fabric.ReadRequest;
import io.rdmashuffle.fabric.ReceiveLeases;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.shuffle.buffer.SliceManagedBuffer;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.RejectedExecutionException;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads blocks of a peer into leased memory, for fabrics that cannot show the peer's memory itself.
 *
 * <p>A block without a receive lease or room in flight, or whose read fails, comes over Spark's block transfer.
 *
 * <p><b>Threading:</b> thread-safe. The fetching thread waits for room in flight, at most the read timeout. Fall-backs
 * after a failed read run on threads of their own, since opening a connection may block.
 *
 * <p><b>Ownership:</b> owns those threads. A lease belongs to the fabric while it is read into, then to the block's
 * buffer.
 */
public final class BlockCopies implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BlockCopies.class);

    /** Between two attempts at a fabric that has no room in flight. */
    private static final long RETRY_MILLIS = 1;

    private final ReceiveLeases leases;
    private final PeerPaths paths;
    private final Duration readTimeout;
    private final boolean verify;
    private final PeerFallbacks fallbacks = new PeerFallbacks();

    /**
     * Creates the copies of one executor.
     *
     * @param readTimeout deadline of one read
     */
    public BlockCopies(ReceiveLeases leases, PeerPaths paths, Duration readTimeout, boolean verify) {
        this.leases = leases;
        this.paths = paths;
        this.readTimeout = readTimeout;
        this.verify = verify;
    }

    /** Starts reading; blocks that cannot even be started are added to {@code otherwise}. */
    void start(PeerPath path, Map<String, BlockRange> blocks, BlockAnswers answers, NettyFetch otherwise) {
        IdentityHashMap<ReadRequest, Wanted> wanted = new IdentityHashMap<>();
        List<ReadRequest> requests = new ArrayList<>();
        try {
            blocks.forEach((blockId, range) -> {
                Lease lease = reserve(range.lengthBytes());
                if (lease == null) {
                    otherwise.add(blockId, ShuffleCounter.NETTY_BYTES);
                } else {
                    ReadRequest request = new ReadRequest(range.slices(), lease);
                    requests.add(request);
                    wanted.put(request, new Wanted(blockId, range));
                }
            });
            if (requests.isEmpty() || read(path, requests, new Arrivals(path, wanted, answers, otherwise))) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        for (ReadRequest request : requests) {
            request.target().close();
        }
        wanted.values().forEach(block -> otherwise.add(block.blockId(), ShuffleCounter.NETTY_BYTES));
    }

    private boolean read(PeerPath path, List<ReadRequest> requests, ReadListener listener) throws InterruptedException {
        ReadBatch batch = new ReadBatch(requests, System.nanoTime() + readTimeout.toNanos(), listener);
        while (!path.peer().read(batch)) {
            if (batch.isExpired()) {
                return false;
            }
            Thread.sleep(RETRY_MILLIS);
        }
        return true;
    }

    private @Nullable Lease reserve(long bytes) {
        try {
            return leases.reserve(bytes);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    /** Starts no further fall-back; reads in flight end with the fabric. */
    @Override
    public void close() {
        fallbacks.close();
    }

    private record Wanted(String blockId, BlockRange range) {}

    /** Turns finished reads into blocks. Runs on the fabric's threads. */
    private final class Arrivals implements ReadListener {
        private final PeerPath path;
        private final IdentityHashMap<ReadRequest, Wanted> wanted;
        private final BlockAnswers answers;
        private final NettyFetch otherwise;

        Arrivals(
                PeerPath path,
                IdentityHashMap<ReadRequest, Wanted> wanted,
                BlockAnswers answers,
                NettyFetch otherwise) {
            this.path = path;
            this.wanted = wanted;
            this.answers = answers;
            this.otherwise = otherwise;
        }

        @Override
        public void succeeded(ReadRequest request) {
            Wanted block = wanted(request);
            RemoteBytes bytes = RemoteBytes.copied(request);
            ManagedBuffer buffer = new SliceManagedBuffer(bytes.slices(), bytes::close);
            try {
                if (verify && !isIntact(block, bytes)) {
                    answers.countChecksumFailure();
                    LOG.warn(
                            "Wrong checksum of block {} read from executor {}: fetching it over Spark's block transfer",
                            block.blockId(),
                            path.executorId());
                    // Its owner may have moved it, and freed what was read.
                    BlockKey.of(block.blockId())
                            .ifPresent(key -> path.directory().outdated(key.shuffleId()));
                    fallBack(block.blockId(), () -> {});
                } else {
                    answers.succeeded(block.blockId(), buffer, path.counter());
                }
            } finally {
                buffer.release();
            }
        }

        @Override
        public void failed(ReadRequest request, ReadFailedException failure) {
            // Not here: giving a path up may wait for a look-up at the driver, and this is the fabric's thread.
            String blockId = wanted(request).blockId();
            fallBack(blockId, () -> {
                if (failure.reason().isFaultOfPath()) {
                    paths.failed(path, failure);
                } else {
                    LOG.debug("Fetching {} of executor {} otherwise", blockId, path.executorId(), failure);
                }
            });
        }

        private boolean isIntact(Wanted block, RemoteBytes bytes) {
            try {
                return block.range().matches(bytes.slices());
            } catch (IOException e) {
                throw new UncheckedIOException("memory cannot fail to be read", e);
            }
        }

        private Wanted wanted(ReadRequest request) {
            Wanted block = wanted.get(request);
            if (block == null) {
                throw new IllegalStateException("completion of a request that was not in the batch");
            }
            return block;
        }

        private void fallBack(String blockId, Runnable before) {
            try {
                fallbacks.execute(path.executorId(), () -> {
                    before.run();
                    otherwise.startOne(blockId);
                });
            } catch (RejectedExecutionException e) {
                answers.failed(blockId, e);
            }
        }
    }
}
