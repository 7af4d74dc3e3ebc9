// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.PrefetchedRows;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.peer.PeerLookups;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.shuffle.read.FetchBatch.Copied;
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
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * Lookup of the location of each block of a reduce task: in place, copied ahead of the task, or fetched by Spark. All
 * owners are queried concurrently. All blocks of a map output use the same path: Spark merges neighbouring blocks, and
 * would fetch the blocks between two of them again.
 *
 * <p><b>Threading:</b> one task thread.
 */
final class BlockLookup {
    private static final Logger LOG = LoggerFactory.getLogger(BlockLookup.class);

    private final String self;
    private final MapOutputStore store;
    private final PeerPaths paths;
    private final PeerLookups lookups;
    private final FetchWindow window;
    private final long maximumBytes;
    private final List<BlockRequest> direct = new ArrayList<>();
    private final List<BlockRequest> others = new ArrayList<>();
    private final Map<BlockManagerId, BlockSource> sources = new HashMap<>();

    /**
     * Path to the blocks of one owner.
     *
     * @param visible whether they are read in place
     * @param lookup completes when directory and indexes have been read, unless they are visible
     */
    private record Way(
            List<BlockRequest> blocks, PeerPath path, boolean visible, CompletableFuture<PrefetchedRows> lookup) {}

    /**
     * Prepares to look up.
     *
     * @param self this executor's id
     * @param store this executor's own map outputs
     * @param paths one-sided ways to peers
     * @param lookups asks many peers at once
     * @param window reads blocks that are not mapped
     * @param maximumBytes of a block that is copied ahead
     */
    BlockLookup(
            String self,
            MapOutputStore store,
            PeerPaths paths,
            PeerLookups lookups,
            FetchWindow window,
            long maximumBytes) {
        this.self = self;
        this.store = store;
        this.paths = paths;
        this.lookups = lookups;
        this.window = window;
        this.maximumBytes = maximumBytes;
    }

    /** Looks all blocks up, and begins to copy. */
    void find(Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> blocksByAddress) {
        Map<BlockManagerId, List<BlockRequest>> byOwner = new LinkedHashMap<>();
        while (blocksByAddress.hasNext()) {
            Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>> owned = blocksByAddress.next();
            BlockManagerId owner = owned._1();
            for (Iterator<Tuple3<BlockId, Object, Object>> blocks = owned._2().iterator(); blocks.hasNext(); ) {
                byOwner.computeIfAbsent(owner, first -> new ArrayList<>()).add(new BlockRequest(owner, blocks.next()));
            }
        }
        List<List<BlockRequest>> remote = new ArrayList<>();
        byOwner.forEach((owner, blocks) -> {
            if (owner.executorId().equals(self)) {
                LocalBlocks source = new LocalBlocks(store);
                read(blocks, source, source::locate);
            } else {
                remote.add(blocks);
            }
        });
        List<Way> ways = ways(remote);
        lookups.await(ways.stream().map(Way::lookup).toList());
        List<List<FetchBatch>> copies = new ArrayList<>();
        ways.forEach(way -> take(way, copies));
        copy(copies);
    }

    /** Finds ways to the owners, and has all peers asked at once; blocks without a way are for Spark's fetch. */
    private List<Way> ways(List<List<BlockRequest>> remote) {
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

    /** Finds paths to the owners; unknown ones are looked up at the driver, concurrently. */
    private List<@Nullable PeerPath> pathsTo(List<List<BlockRequest>> remote) {
        List<@Nullable PeerPath> all = new ArrayList<>();
        List<Integer> unknown = new ArrayList<>();
        List<Supplier<@Nullable PeerPath>> searches = new ArrayList<>();
        for (List<BlockRequest> blocks : remote) {
            String executorId = blocks.get(0).owner().executorId();
            PeerPath path = paths.known(executorId);
            boolean isToBeFound = path == null && paths.isToBeFound(executorId);
            if (isToBeFound) {
                unknown.add(all.size());
                searches.add(() -> paths.to(executorId));
            }
            // Another task may have found it between the two calls.
            all.add(isToBeFound || path != null ? path : paths.known(executorId));
        }
        List<@Nullable PeerPath> found = lookups.all(searches);
        for (int i = 0; i < unknown.size(); i++) {
            all.set(unknown.get(i), found.get(i));
        }
        return all;
    }

    /** Starts to ask a peer; null if that has failed already. */
    private @Nullable Way way(List<BlockRequest> blocks, PeerPath path) {
        try {
            boolean visible = path.directory().isVisible();
            return new Way(
                    blocks,
                    path,
                    visible,
                    visible ? CompletableFuture.completedFuture(new PrefetchedRows()) : ask(blocks, path));
        } catch (ReadFailedException e) {
            paths.failed(path, e);
            return null;
        }
    }

    private CompletableFuture<PrefetchedRows> ask(List<BlockRequest> blocks, PeerPath path) {
        ShuffleBlockId first = blocks.get(0).id();
        Set<Long> mapIds = new LinkedHashSet<>();
        int start = first.reduceId();
        int end = start + 1;
        for (BlockRequest each : blocks) {
            mapIds.add(each.id().mapId());
            start = Math.min(start, each.id().reduceId());
            end = Math.max(end, each.id().reduceId() + 1);
        }
        return path.directory().prefetch(first.shuffleId(), mapIds, start, end, lookups.executor());
    }

    private void take(Way way, List<List<FetchBatch>> copies) {
        if (way.visible()) {
            MappedBlocks source = new MappedBlocks(paths, way.path());
            read(way.blocks(), source, source::locate);
            return;
        }
        PrefetchedRows rows = answer(way);
        if (rows == null) {
            others.addAll(way.blocks());
            return;
        }
        CopiedBlocks source = new CopiedBlocks(paths, way.path(), window, maximumBytes);
        sources.put(way.blocks().get(0).owner(), source);
        copies.add(source.plan(way.blocks(), rows));
        way.blocks().stream()
                .filter(each -> !(each.location() instanceof Copied))
                .forEach(others::add);
    }

    /** Returns what the peer has answered; null if a query for missing records would time out again. */
    private @Nullable PrefetchedRows answer(Way way) {
        try {
            return way.lookup().isDone() ? way.lookup().join() : null;
        } catch (CompletionException e) {
            if (e.getCause() instanceof ReadFailedException failure
                    && failure.reason().concernsPath()) {
                paths.failed(way.path(), failure);
                return null;
            }
            LOG.debug("Asking executor {} again", way.path().executorId(), e);
            return new PrefetchedRows();
        }
    }

    /** Locates blocks that are read where they lie, each map output once. */
    private void read(List<BlockRequest> blocks, BlockSource source, Function<ShuffleBlockId, BlockLocation> locate) {
        sources.put(blocks.get(0).owner(), source);
        long mapId = -1;
        BlockLocation location = Elsewhere.UNKNOWN;
        for (BlockRequest each : blocks) {
            if (each.id().mapId() != mapId) {
                mapId = each.id().mapId();
                location = locate.apply(each.id());
            }
            each.locate(location);
            (location instanceof Elsewhere ? others : direct).add(each);
        }
    }

    /** Queues batches, one of each peer in turn, so that no peer has to serve the whole window of a task. */
    private void copy(List<List<FetchBatch>> byPeer) {
        List<FetchBatch> inTurn = new ArrayList<>();
        int most = byPeer.stream().mapToInt(List::size).max().orElse(0);
        for (int i = 0; i < most; i++) {
            for (List<FetchBatch> batches : byPeer) {
                if (i < batches.size()) {
                    inTurn.add(batches.get(i));
                }
            }
        }
        inTurn.forEach(batch -> direct.addAll(batch.requests()));
        window.addAll(inTurn);
    }

    /** Returns the window that reads the copied blocks. */
    FetchWindow window() {
        return window;
    }

    /** Returns the blocks that can be read here, in the order in which they come. */
    List<BlockRequest> direct() {
        return direct;
    }

    /** Returns the blocks for Spark's fetch. */
    List<BlockRequest> others() {
        return others;
    }

    /** Returns the sources of the direct blocks, which the caller closes. */
    Map<BlockManagerId, BlockSource> sources() {
        return sources;
    }
}
