package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.RemoteDirectory.Located;
import io.rdmashuffle.directory.SlotWatch;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.shuffle.buffer.SliceManagedBuffer;
import io.rdmashuffle.store.ShuffleCounter;
import io.rdmashuffle.store.ShuffleCounters;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
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
 * Fetches blocks by reading the peer's directory, index and data, without the peer's help; what cannot be had that way comes
 * over Spark's own block transfer.
 *
 * <p>Spark's {@code ShuffleBlockFetcherIterator} drives it, and brings bytes in flight, retries of corrupt blocks, metrics
 * and the {@code FetchFailedException} of the task.
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
        // Downloads to disk may take longer than any fixed time; Spark's transport ends them when they stand still
        // (spark.shuffle.io.connectionTimeout).
        overNetty.start();
    }

    private void fetchOneSided(
            PeerPath path, String[] blockIds, BlockAnswers answers, NettyFetch overNetty, boolean toMemory) {
        Map<String, BlockRange> toCopy = new LinkedHashMap<>();
        Map<String, BlockKey> keys = new HashMap<>();
        for (String blockId : blockIds) {
            BlockKey.of(blockId).ifPresent(key -> keys.put(blockId, key));
        }
        Map<BlockKey, BlockRange> ranges = new HashMap<>();
        boolean usable = lookUp(path, keys.values(), ranges);
        for (String blockId : blockIds) {
            ShuffleCounter otherwise = ShuffleCounter.NETTY_BYTES;
            try {
                BlockKey key = keys.get(blockId);
                Located located =
                        key == null || !usable ? null : path.directory().locate(key.shuffleId(), key.mapId());
                if (located != null && located.entry().place() == DirectoryEntry.Place.FILE) {
                    otherwise = ShuffleCounter.FILE_BYTES;
                }
                if (key != null && located != null && located.entry().place() == DirectoryEntry.Place.POOL) {
                    BlockRange known = ranges.get(key);
                    BlockRange range =
                            known != null ? known : path.directory().range(located.entry(), key.start(), key.end());
                    // Spark asks for no empty blocks: an index that says so is one whose memory was given away and
                    // cleared.
                    boolean hasBytes = !range.slices().isEmpty();
                    SlotWatch watch = hasBytes ? path.directory().watch(key.shuffleId(), located.generation()) : null;
                    if (watch != null && readInPlace(path, blockId, range, watch, answers)) {
                        continue;
                    }
                    if (hasBytes && watch == null && toMemory) {
                        toCopy.put(blockId, range);
                        continue;
                    }
                }
            } catch (ReadFailedException e) {
                usable = false;
                giveUp(path, e);
            } catch (IOException e) {
                LOG.warn(
                        "block {} of executor {} is fetched over Spark's block transfer",
                        blockId,
                        path.executorId(),
                        e);
            }
            overNetty.add(blockId, otherwise);
        }
        if (!toCopy.isEmpty()) {
            copies.start(path, toCopy, answers, overNetty);
        }
    }

    private void giveUp(PeerPath path, ReadFailedException cause) {
        if (cause.reason() != ReadFailedException.Reason.NO_ROOM) {
            paths.failed(path, cause);
        }
    }

    /**
     * Finds out at once where blocks lie; one that is missing afterwards is asked for by itself, so that it fails by itself.
     *
     * @return false if asking again would be in vain, and take as long
     */
    private boolean lookUp(PeerPath path, Collection<BlockKey> keys, Map<BlockKey, BlockRange> ranges) {
        List<BlockKey> found = new ArrayList<>(keys.size());
        List<WantedRange> wanted = new ArrayList<>(keys.size());
        try {
            for (BlockKey key : keys) {
                Located located = path.directory().locate(key.shuffleId(), key.mapId());
                if (located != null && located.entry().place() == DirectoryEntry.Place.POOL) {
                    found.add(key);
                    wanted.add(new WantedRange(located.entry(), key.start(), key.end()));
                }
            }
            List<@Nullable BlockRange> read = path.directory().ranges(wanted);
            for (int i = 0; i < found.size(); i++) {
                BlockRange range = read.get(i);
                if (range != null) {
                    ranges.put(found.get(i), range);
                }
            }
        } catch (ReadFailedException e) {
            if (e.reason() != ReadFailedException.Reason.OUT_OF_BOUNDS) {
                giveUp(path, e);
                return false;
            }
            // One entry that leads nowhere must not cost the others their path.
        } catch (IOException e) {
            LOG.debug("blocks of executor {} are looked up one by one", path.executorId(), e);
        }
        return true;
    }

    /**
     * Answers with the peer's own memory, watched while it is read; false if this path can only copy. Owns the watch.
     *
     * @throws IOException if the bytes are not what the writer wrote
     */
    private boolean readInPlace(PeerPath path, String blockId, BlockRange range, SlotWatch watch, BlockAnswers answers)
            throws IOException {
        RemoteBytes bytes = null;
        boolean handedOver = false;
        try {
            bytes = RemoteBytes.inPlace(path.peer(), range.slices());
            if (bytes == null) {
                return false;
            }
            if (verify && !range.matches(bytes.slices())) {
                throw new IOException("wrong checksum in the memory of executor " + path.executorId());
            }
            if (!watch.isCurrent()) {
                // Now another path may still have the block; from here on the reader's stream would fail.
                throw new IOException("executor " + path.executorId() + " has withdrawn the shuffle meanwhile");
            }
            RemoteBytes held = bytes;
            ManagedBuffer block = new SliceManagedBuffer(
                    bytes.slices(),
                    () -> {
                        held.close();
                        watch.close();
                    },
                    watch::isCurrent);
            handedOver = true;
            try {
                answers.succeeded(blockId, block, path.counter());
            } finally {
                block.release();
            }
            return true;
        } finally {
            if (!handedOver) {
                if (bytes != null) {
                    bytes.close();
                }
                watch.close();
            }
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
        return netty.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
    }

    @Override
    public void close() {
        deadlines.close();
        copies.close();
    }
}
