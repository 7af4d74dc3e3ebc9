// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.shuffle.buffer.SliceManagedBuffer;
import io.rdmashuffle.shuffle.read.InPlaceBlock.Outcome;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fetches blocks by reading the peer's directory, index and data, without the peer's help; what cannot be had that way
 * comes over Spark's own block transfer.
 *
 * <p>Spark's {@code ShuffleBlockFetcherIterator} drives it, and brings bytes in flight, retries of corrupt blocks,
 * metrics and the {@code FetchFailedException} of the task.
 *
 * <p><b>Threading:</b> thread-safe. Blocks that are used in place are answered before {@link #fetchBlocks} returns.
 *
 * <p><b>Ownership:</b> owns the deadline timer and the copies; paths and Spark's client are the caller's.
 */
public final class OneSidedBlockClient extends BlockStoreClient {
    private static final Logger LOG = LoggerFactory.getLogger(OneSidedBlockClient.class);

    private final PeerPaths paths;
    private final BlockStoreClient netty;
    private final BlockCopies copies;
    private final ShuffleCounters counters;
    private final FetchDeadlines deadlines;
    private final boolean verify;

    /**
     * Creates the client of one executor.
     *
     * @param netty Spark's own client, for everything else
     */
    public OneSidedBlockClient(
            PeerPaths paths,
            BlockStoreClient netty,
            BlockCopies copies,
            ShuffleCounters counters,
            FetchDeadlines deadlines,
            boolean verify) {
        this.paths = paths;
        this.netty = netty;
        this.copies = copies;
        this.counters = counters;
        this.deadlines = deadlines;
        this.verify = verify;
    }

    @Override
    public void fetchBlocks(
            String host,
            int port,
            String execId,
            String[] blockIds,
            BlockFetchingListener listener,
            @Nullable DownloadFileManager downloads) {
        BlockAnswers answers = new BlockAnswers(List.of(blockIds), listener, counters);
        NettyFetch overNetty = new NettyFetch(netty, host, port, execId, answers, downloads);
        PeerPath path = paths.to(execId);
        if (path == null) {
            for (String blockId : blockIds) {
                overNetty.add(blockId, ShuffleCounter.NETTY_BYTES);
            }
        } else {
            fetchOneSided(path, blockIds, answers, overNetty, downloads == null);
        }
        if (downloads == null) {
            deadlines.watch(answers);
        }
        // Downloads to disk may take longer than any fixed time; Spark's transport ends them when no data arrives
        // (spark.shuffle.io.connectionTimeout).
        overNetty.start();
    }

    private void fetchOneSided(
            PeerPath path, String[] blockIds, BlockAnswers answers, NettyFetch overNetty, boolean toMemory) {
        Map<String, BlockKey> keys = new HashMap<>();
        for (String blockId : blockIds) {
            BlockKey.of(blockId).ifPresent(key -> keys.put(blockId, key));
        }
        BlockPlanner planner = new BlockPlanner(paths, path, toMemory);
        planner.lookUp(keys.values());
        Map<String, BlockRange> toCopy = new LinkedHashMap<>();
        for (String blockId : blockIds) {
            BlockPlan plan = planner.plan(blockId, keys.get(blockId));
            if (plan instanceof BlockPlan.InPlace here) {
                readInPlace(path, new Asked(blockId, keys.get(blockId)), here.block(), answers, overNetty);
            } else if (plan instanceof BlockPlan.Copy copy) {
                toCopy.put(blockId, copy.range());
            } else if (plan instanceof BlockPlan.Netty other) {
                overNetty.add(blockId, other.counter());
            }
        }
        if (!toCopy.isEmpty()) {
            copies.start(path, toCopy, answers, overNetty);
        }
    }

    /**
     * Answers with the peer's own memory, watched while it is read; over Spark's block transfer if it is not the block.
     */
    private void readInPlace(
            PeerPath path, Asked asked, InPlaceBlock<StoredRange> found, BlockAnswers answers, NettyFetch overNetty) {
        String blockId = asked.blockId();
        Outcome outcome;
        try {
            outcome = found.check(verify);
            if (outcome == Outcome.DAMAGED) {
                answers.countChecksumFailure();
            }
        } catch (IOException e) {
            LOG.warn("Cannot read block {} in the disk tier of executor {}", blockId, path.executorId(), e);
            outcome = Outcome.DAMAGED;
        } catch (RuntimeException | Error failure) {
            CloseOnFailure.close(failure, found);
            throw failure;
        }
        if (outcome != Outcome.GOOD) {
            found.close();
            LOG.warn(
                    "Block {} in the memory of executor {} is {}: fetching it over Spark's block transfer",
                    blockId,
                    path.executorId(),
                    outcome.reason());
            overNetty.add(blockId, ShuffleCounter.NETTY_BYTES);
            return;
        }
        // From here on no other path has the block: if its shuffle is removed, the reader's stream fails.
        FollowedBlock<StoredRange> followed = new FollowedBlock<>(found, () -> findAgain(path, asked), verify);
        ManagedBuffer block = new SliceManagedBuffer(followed.place(), followed::close, followed);
        try {
            answers.succeeded(blockId, block, path.counter());
        } finally {
            block.release();
        }
    }

    private @Nullable InPlaceBlock<StoredRange> findAgain(PeerPath path, Asked asked) {
        BlockPlan plan = new BlockPlanner(paths, path, false).plan(asked.blockId(), asked.key());
        return plan instanceof BlockPlan.InPlace here ? here.block() : null;
    }

    /** A block by both of its names. */
    private record Asked(String blockId, @Nullable BlockKey key) {}

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
        return netty.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
    }

    @Override
    public void close() {
        deadlines.close();
        copies.close();
    }
}
