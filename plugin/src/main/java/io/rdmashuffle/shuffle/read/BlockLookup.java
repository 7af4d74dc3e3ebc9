// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.store.MapOutputStore;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Finds out how each block of a reduce task is to be read: where it lies, copied ahead of the task, or by Spark's
 * fetch. All owners are asked at once. All blocks of a map output go one way: Spark merges neighbouring blocks, and
 * would bring again what is between two of them.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class BlockLookup {
    private static final Logger LOG = LoggerFactory.getLogger(BlockLookup.class);

    private final String self;
    private final MapOutputStore store;
    private final PeerPaths paths;
    private final PeerLookups lookups;
    private final SlabReads slabs;
    private final long maximumBytes;
    private final List<WantedBlock> direct = new ArrayList<>();
    private final List<WantedBlock> others = new ArrayList<>();
    private final Map<BlockManagerId, BlockSource> sources = new HashMap<>();

    /**
     * The way to the blocks of one owner.
     *
     * @param visible whether they are read where they are
     * @param lookup ends when what is needed to find them is here, unless they are visible
     */
    private record Way(List<WantedBlock> blocks, PeerPath path, boolean visible, CompletableFuture<Void> lookup) {}

    /**
     * Prepares to look up.
     *
     * @param self this executor's id
     * @param store this executor's own map outputs
     * @param paths one-sided ways to peers
     * @param lookups asks many peers at once
     * @param slabs copies blocks that cannot be read where they are
     * @param maximumBytes of a block that is copied ahead
     */
    BlockLookup(
            String self,
            MapOutputStore store,
            PeerPaths paths,
            PeerLookups lookups,
            SlabReads slabs,
            long maximumBytes) {
        this.self = self;
        this.store = store;
        this.paths = paths;
        this.lookups = lookups;
        this.slabs = slabs;
        this.maximumBytes = maximumBytes;
    }

    /** Looks all blocks up, and begins to copy. */
    void find(Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress) {
        Map<BlockManagerId, List<WantedBlock>> byOwner = new LinkedHashMap<>();
        while (blocksByAddress.hasNext()) {
            Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> owned = blocksByAddress.next();
            BlockManagerId owner = owned._1();
            for (Iterator<Tuple3<BlockId, Object, Object>> blocks = owned._2().iterator(); blocks.hasNext(); ) {
                byOwner.computeIfAbsent(owner, first -> new ArrayList<>()).add(new WantedBlock(owner, blocks.next()));
            }
        }
        List<List<WantedBlock>> remote = new ArrayList<>();
        byOwner.forEach((owner, blocks) -> {
            if (owner.executorId().equals(self)) {
                read(blocks, new LocalBlocks(store));
            } else {
                remote.add(blocks);
            }
        });
        List<Way> ways = ways(remote);
        lookups.await(ways.stream().map(Way::lookup).toList());
        List<List<Slab>> copies = new ArrayList<>();
        ways.forEach(way -> take(way, copies));
        copy(copies);
    }

    /** Finds ways to the owners, and has all peers asked at once; blocks without a way are for Spark's fetch. */
    private List<Way> ways(List<List<WantedBlock>> remote) {
        List<Way> ways = new ArrayList<>();
        List<PeerPath> found = pathsTo(remote);
        for (int i = 0; i < remote.size(); i++) {
            PeerPath path = found.get(i);
            Way way = path == null ? null : way(remote.get(i), path);
            if (way == null) {
                others.addAll(remote.get(i));
            } else {
                ways.add(way);
            }
        }
        return ways;
    }

    /** Finds paths to the owners; of those that it does not know it asks the driver, at once. */
    private List<@Nullable PeerPath> pathsTo(List<List<WantedBlock>> remote) {
        List<@Nullable PeerPath> all = new ArrayList<>();
        List<Supplier<@Nullable PeerPath>> unknown = new ArrayList<>();
        for (List<WantedBlock> blocks : remote) {
            String executorId = blocks.get(0).owner().executorId();
            PeerPath path = paths.known(executorId);
            all.add(path);
            if (path == null) {
                unknown.add(() -> paths.to(executorId));
            }
        }
        List<@Nullable PeerPath> found = lookups.all(unknown);
        int next = 0;
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i) == null) {
                all.set(i, found.get(next++));
            }
        }
        return all;
    }

    /** Begins to ask a peer; null if that has failed already. */
    private @Nullable Way way(List<WantedBlock> blocks, PeerPath path) {
        try {
            boolean visible = path.directory().isVisible();
            return new Way(
                    blocks, path, visible, visible ? CompletableFuture.completedFuture(null) : ask(blocks, path));
        } catch (ReadFailedException e) {
            failed(path, e);
            return null;
        }
    }

    private CompletableFuture<Void> ask(List<WantedBlock> blocks, PeerPath path) {
        Set<Long> mapIds = new LinkedHashSet<>();
        blocks.forEach(each -> mapIds.add(each.id().mapId()));
        int shuffleId = blocks.get(0).id().shuffleId();
        return path.directory().prefetch(shuffleId, mapIds, lookups.executor());
    }

    private void take(Way way, List<List<Slab>> copies) {
        if (way.visible()) {
            read(way.blocks(), new PeerBlocks(paths, way.path()));
            return;
        }
        if (!isAnswered(way)) {
            others.addAll(way.blocks());
            return;
        }
        List<Slab> planned = new SlabPlanner(paths, way.path(), maximumBytes).plan(way.blocks());
        CopiedBlocks source = new CopiedBlocks(way.path(), planned, slabs);
        sources.put(way.blocks().get(0).owner(), source);
        way.blocks().stream().filter(each -> !source.lookUp(each)).forEach(others::add);
        copies.add(planned);
    }

    /** Returns whether a peer can be asked for what it has not told: false if that would take as long, and fail. */
    private boolean isAnswered(Way way) {
        try {
            if (!way.lookup().isDone()) {
                return false;
            }
            way.lookup().join();
            return true;
        } catch (CompletionException e) {
            if (e.getCause() instanceof ReadFailedException failure
                    && failure.reason().concernsPath()) {
                failed(way.path(), failure);
                return false;
            }
            LOG.debug("Asking executor {} again", way.path().executorId(), e);
            return true;
        }
    }

    private void failed(PeerPath path, ReadFailedException failure) {
        if (failure.reason().isFaultOfPath()) {
            paths.failed(path, failure);
        }
    }

    /** Has blocks read where they are, as far as they are there. */
    private void read(List<WantedBlock> blocks, BlockSource source) {
        sources.put(blocks.get(0).owner(), source);
        long mapId = -1;
        boolean there = false;
        for (WantedBlock each : blocks) {
            if (each.id().mapId() != mapId) {
                mapId = each.id().mapId();
                there = source.lookUp(each);
            }
            (there ? direct : others).add(each);
        }
    }

    /** Has slabs copied, one of each peer in turn, so that no peer has to bring all of a task's window. */
    private void copy(List<List<Slab>> byPeer) {
        List<Slab> inTurn = new ArrayList<>();
        int most = byPeer.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < most; i++) {
            for (List<Slab> slabs : byPeer) {
                if (i < slabs.size()) {
                    inTurn.add(slabs.get(i));
                }
            }
        }
        inTurn.forEach(slab -> slab.parts().forEach(part -> direct.add(part.block())));
        slabs.addAll(inTurn);
    }

    /** Returns the blocks that can be read here, in the order in which they come. */
    List<WantedBlock> direct() {
        return direct;
    }

    /** Returns the blocks for Spark's fetch. */
    List<WantedBlock> others() {
        return others;
    }

    /** Returns the sources of the direct blocks, which the caller closes. */
    Map<BlockManagerId, BlockSource> sources() {
        return sources;
    }
}
