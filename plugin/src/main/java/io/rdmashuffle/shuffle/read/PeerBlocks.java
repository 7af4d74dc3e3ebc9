// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.SlotWatch;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.StoredSlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in the pool of a peer whose memory is mapped into this process. Its owner may free that memory at any time, so
 * what was read is good only if the shuffle's slot is unchanged after it.
 *
 * <p><b>Ownership:</b> keeps the regions that it used mapped until it is closed.
 */
final class PeerBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(PeerBlocks.class);

    private final PeerPaths paths;
    private final PeerPath path;
    private final FoundAhead<Located> ahead =
            new FoundAhead<>(located -> located.entry().mapId());
    private final Map<Integer, RemoteView> regions = new HashMap<>();
    private @Nullable SlotWatch watch;
    private long watched;
    private boolean broken;

    PeerBlocks(PeerPaths paths, PeerPath path) {
        this.paths = paths;
        this.path = path;
    }

    @Override
    public boolean lookUp(WantedBlock wanted) {
        try {
            Located located = locateReadable(wanted.id());
            if (located != null) {
                ahead.add(located);
            }
            return located != null;
        } catch (IOException e) {
            LOG.debug("Cannot locate {} of executor {}", wanted.id(), path.executorId(), e);
            return false;
        }
    }

    @Override
    public @Nullable InPlaceBlock<StoredBlock> find(WantedBlock wanted) {
        if (broken) {
            return null;
        }
        ShuffleBlockId id = wanted.id();
        try {
            return find(id);
        } catch (ReadFailedException e) {
            // A region that was given back held what is freed; nothing is wrong with the peer.
            broken = e.reason() != Reason.REGION_ABSENT;
            if (e.reason().isFaultOfPath()) {
                paths.failed(path, e);
            }
        } catch (IOException e) {
            LOG.warn("Fetching {} of executor {} over Spark's block transfer", id, path.executorId(), e);
        }
        return null;
    }

    private @Nullable InPlaceBlock<StoredBlock> find(ShuffleBlockId id) throws IOException {
        // May be older than the directory would trust: the watch tells.
        Located known = ahead.get(id.mapId());
        Located located = known == null ? locateReadable(id) : known;
        SlotWatch slot = located == null ? null : watch(id.shuffleId(), located.generation());
        if (located != null && slot != null && !slot.isCurrent()) {
            // Its map outputs have moved, or it is gone.
            ahead.clear();
            path.directory().outdated(id.shuffleId(), located.generation());
            located = locateReadable(id);
            slot = located == null ? null : watch(id.shuffleId(), located.generation());
        }
        if (located == null || slot == null || located.entry().extents() == 0) {
            return null;
        }
        DirectoryEntry entry = located.entry();
        StoredBlock bytes = MapOutputIndex.block(entry, this::region, id.reduceId());
        // Spark asks for no empty blocks: an index that says so is one whose memory was freed and cleared.
        return bytes.lengthBytes() == 0 ? null : new InPlaceBlock<>(bytes, slot::isCurrent, () -> {});
    }

    private @Nullable Located locateReadable(ShuffleBlockId id) throws IOException {
        Located located = path.directory().locate(id.shuffleId(), id.mapId());
        return located == null || !located.entry().isReadable(path.peer().readsDisk()) ? null : located;
    }

    /** Returns a region of the peer; it stays mapped or open until this is closed. */
    private @Nullable StoredSlice region(int regionId) throws ReadFailedException {
        RemoteView view = regions.get(regionId);
        if (view == null) {
            view = path.peer().region(regionId);
            if (view == null) {
                return null;
            }
            regions.put(regionId, view);
        }
        return view.bytes();
    }

    /** Returns a watch on the shuffle's slot in that generation; null if the peer's memory cannot be mapped. */
    private @Nullable SlotWatch watch(int shuffleId, long generation) throws IOException {
        if (watch == null || watched != generation) {
            closeWatch();
            watch = path.directory().watch(shuffleId, generation);
            watched = generation;
        }
        return watch;
    }

    @Override
    public ShuffleCounter counter() {
        return path.counter();
    }

    private void closeWatch() {
        SlotWatch open = watch;
        watch = null;
        if (open != null) {
            open.close();
        }
    }

    @Override
    public void close() {
        closeWatch();
        regions.values().forEach(RemoteView::close);
        regions.clear();
    }
}
