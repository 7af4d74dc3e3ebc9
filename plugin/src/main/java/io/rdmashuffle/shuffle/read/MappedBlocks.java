// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.MapOutputIndex;
import io.rdmashuffle.directory.SlotWatch;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.RemoteView;
import io.rdmashuffle.memory.slice.StoredSlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of one shuffle in the pool of a peer whose memory is mapped into this process. The owner may free that memory
 * at any time, so bytes are good only if the shuffle's slot is unchanged after they were read.
 *
 * <p><b>Ownership:</b> keeps the regions that it used mapped until it is closed.
 */
final class MappedBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(MappedBlocks.class);

    private final PeerPaths paths;
    private final PeerPath path;
    private final Map<Integer, RemoteView> regions = new HashMap<>();
    private @Nullable SlotWatch watch;
    private long watchedGeneration;
    /** Whether outputs have moved since they were located; other generations than the watched one are old then. */
    private boolean moved;

    private boolean broken;

    /** A map output in mapped memory. */
    private record Mapped(Located output) implements BlockLocation {}

    MappedBlocks(PeerPaths paths, PeerPath path) {
        this.paths = paths;
        this.path = path;
    }

    /** Looks up the map output of a block in the peer's directory. */
    BlockLocation locate(ShuffleBlockId id) {
        if (broken) {
            return Elsewhere.UNKNOWN;
        }
        try {
            Located located = path.directory().locate(id.shuffleId(), id.mapId());
            if (located == null) {
                return Elsewhere.UNKNOWN;
            }
            if (located.entry().place() == Place.FILE) {
                return Elsewhere.FILE;
            }
            return isReadable(located) ? new Mapped(located) : Elsewhere.UNKNOWN;
        } catch (IOException e) {
            failed(id, e);
            return Elsewhere.UNKNOWN;
        }
    }

    private void failed(ShuffleBlockId id, IOException cause) {
        if (!(cause instanceof ReadFailedException failure)) {
            LOG.warn(
                    "Directory entry or index of {} of executor {} is damaged; Spark's block transfer serves it",
                    id,
                    path.executorId(),
                    cause);
            return;
        }
        // A released region contained freed outputs; nothing is wrong with the peer.
        broken = failure.reason() != Reason.REGION_ABSENT;
        paths.failed(path, failure);
    }

    private boolean isReadable(Located located) {
        return located.entry().isReadable(path.peer().readsDisk());
    }

    @Override
    public @Nullable Block find(BlockRequest request) {
        if (broken) {
            return null;
        }
        ShuffleBlockId id = request.id();
        try {
            return find(id, request.location());
        } catch (IOException e) {
            failed(id, e);
            return null;
        }
    }

    private @Nullable Block find(ShuffleBlockId id, BlockLocation location) throws IOException {
        // May be older than the directory would trust: the watch tells.
        Located located = location instanceof Mapped known && isUsable(known.output()) ? known.output() : relocate(id);
        SlotWatch slot = located == null ? null : watch(id.shuffleId(), located.generation());
        if (located != null && slot != null && !slot.isCurrent()) {
            moved = true;
            path.directory().outdated(id.shuffleId(), located.generation());
            located = relocate(id);
            slot = located == null ? null : watch(id.shuffleId(), located.generation());
        }
        if (located == null || slot == null || located.entry().extents() == 0) {
            return null;
        }
        StoredBlock bytes = MapOutputIndex.block(located.entry(), this::region, id.reduceId());
        // Spark requests no empty blocks: an index with one lies in memory that was freed and cleared.
        return bytes.lengthBytes() == 0 ? null : new Block(bytes, slot::isCurrent, () -> {});
    }

    private boolean isUsable(Located known) {
        return !moved || known.generation() == watchedGeneration;
    }

    private @Nullable Located relocate(ShuffleBlockId id) throws IOException {
        Located located = path.directory().locate(id.shuffleId(), id.mapId());
        return located != null && isReadable(located) ? located : null;
    }

    /** Returns a region of the peer, which stays mapped or open until this is closed. */
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

    /** Returns a watch of the shuffle's slot in a generation; null if the peer's memory cannot be mapped. */
    private @Nullable SlotWatch watch(int shuffleId, long generation) throws IOException {
        if (watch == null || watchedGeneration != generation) {
            closeWatch();
            watch = path.directory().watch(shuffleId, generation);
            watchedGeneration = generation;
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
