// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.SlotWatch;
import io.rdmashuffle.directory.StoredRange;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.BlockKey;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides for each block of one fetch how it is brought here, from the peer's directory and indexes.
 *
 * <p><b>Threading:</b> one thread.
 */
final class BlockPlanner {
    private static final Logger LOG = LoggerFactory.getLogger(BlockPlanner.class);
    /** A shuffle whose map outputs move this often while one of them is looked up comes by way of Spark. */
    private static final int MAX_LOOKS = 4;

    private final PeerPaths paths;
    private final PeerPath path;
    private final boolean mayCopy;
    private final Map<BlockKey, Found> ahead = new HashMap<>();
    /** False once a read has failed: another one would fail too, and take as long. */
    private boolean usable = true;

    /** Where a block is, as the index says to which that entry leads. */
    private record Found(Located located, BlockRange range) {}

    /**
     * Begins a fetch.
     *
     * @param path to the peer
     * @param mayCopy false where blocks are too large for memory
     */
    BlockPlanner(PeerPaths paths, PeerPath path, boolean mayCopy) {
        this.paths = paths;
        this.path = path;
        this.mayCopy = mayCopy;
    }

    /**
     * Looks up all blocks in one go; one that is missing afterwards is looked up alone, so that only it fails.
     */
    void lookUp(Collection<BlockKey> keys) {
        List<BlockKey> found = new ArrayList<>(keys.size());
        List<Located> places = new ArrayList<>(keys.size());
        List<WantedRange> wanted = new ArrayList<>(keys.size());
        try {
            for (BlockKey key : keys) {
                Located located = path.directory().locate(key.shuffleId(), key.mapId());
                if (located != null && located.entry().isReadable(path.peer().readsDisk())) {
                    found.add(key);
                    places.add(located);
                    wanted.add(new WantedRange(key.shuffleId(), located.entry(), key.start(), key.end()));
                }
            }
            List<@Nullable BlockRange> read = path.directory().ranges(wanted);
            for (int i = 0; i < found.size(); i++) {
                BlockRange range = read.get(i);
                if (range != null) {
                    ahead.put(found.get(i), new Found(places.get(i), range));
                }
            }
        } catch (ReadFailedException e) {
            // One bad entry must not cost the others their path.
            if (e.reason() != Reason.OUT_OF_BOUNDS && e.reason() != Reason.UNREADABLE) {
                giveUp(e);
            }
        } catch (IOException e) {
            LOG.debug("Looking up blocks of executor {} one by one", path.executorId(), e);
        }
    }

    /** Returns the plan for one block; {@code key} is null for what is no block of a map output. */
    BlockPlan plan(String blockId, @Nullable BlockKey key) {
        if (key == null || !usable) {
            return BlockPlan.NETTY;
        }
        try {
            Located located = path.directory().locate(key.shuffleId(), key.mapId());
            if (located == null) {
                return BlockPlan.NETTY;
            }
            return switch (located.entry().place()) {
                case POOL -> pooled(key, located);
                case DISK -> path.peer().readsDisk() ? pooled(key, located) : BlockPlan.NETTY;
                case FILE -> new BlockPlan.Netty(ShuffleCounter.FILE_BYTES);
                case WITHDRAWN -> BlockPlan.NETTY;
            };
        } catch (ReadFailedException e) {
            if (e.reason() == Reason.UNREADABLE) {
                LOG.warn(
                        "Cannot read the index of block {} of executor {}: fetching it over Spark's block transfer",
                        blockId,
                        path.executorId(),
                        e);
            } else {
                giveUp(e);
            }
        } catch (IOException e) {
            LOG.warn("Fetching block {} of executor {} over Spark's block transfer", blockId, path.executorId(), e);
        }
        return BlockPlan.NETTY;
    }

    private BlockPlan pooled(BlockKey key, Located first) throws IOException {
        Located located = first;
        for (int look = 0; look < MAX_LOOKS && located != null; look++) {
            SlotWatch watch = path.directory().watch(key.shuffleId(), located.generation());
            if (watch == null) {
                BlockRange range = rangeOf(key, located);
                return range.slices().isEmpty() || !mayCopy ? BlockPlan.NETTY : new BlockPlan.Copy(range);
            }
            if (watch.isCurrent()) {
                return inPlace(key, located, watch);
            }
            watch.close();
            located = lookAgain(key, located);
        }
        return BlockPlan.NETTY;
    }

    /** Maps a block; the watch is the plan's, or closed. */
    private BlockPlan inPlace(BlockKey key, Located located, SlotWatch watch) throws IOException {
        try {
            BlockRange range = rangeOf(key, located);
            // Spark asks for no empty blocks: an index that says so is one whose memory was freed and cleared.
            RemoteBytes bytes = range.slices().isEmpty() ? null : RemoteBytes.inPlace(path.peer(), range.slices());
            if (bytes == null) {
                watch.close();
                return BlockPlan.NETTY;
            }
            return new BlockPlan.InPlace(
                    new InPlaceBlock<>(new StoredRange(range, bytes.slices()), watch::isCurrent, () -> {
                        bytes.close();
                        watch.close();
                    }));
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, watch);
            throw failure;
        }
    }

    private BlockRange rangeOf(BlockKey key, Located located) throws IOException {
        Found found = ahead.get(key);
        // The map output may have moved since.
        return found != null && found.located().equals(located)
                ? found.range()
                : path.directory().range(new WantedRange(key.shuffleId(), located.entry(), key.start(), key.end()));
    }

    /** Looks a block up again whose shuffle's slot has changed; null where it did not move but is gone. */
    private @Nullable Located lookAgain(BlockKey key, Located stale) throws IOException {
        path.directory().outdated(key.shuffleId(), stale.generation());
        Located located = path.directory().locate(key.shuffleId(), key.mapId());
        boolean moved = located != null
                && located.generation() != stale.generation()
                && located.entry().isReadable(path.peer().readsDisk());
        return moved ? located : null;
    }

    private void giveUp(ReadFailedException cause) {
        if (cause.reason() == Reason.REGION_ABSENT) {
            LOG.debug("Looked for what executor {} has freed", path.executorId(), cause);
            return;
        }
        usable = false;
        if (cause.reason().isFaultOfPath()) {
            paths.failed(path, cause);
        }
    }
}
