// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.peer.PeerPath;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
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
    private final ReadServices services;
    private final SlabReads slabs;
    private final long maximumBytes;
    private final List<WantedBlock> direct = new ArrayList<>();
    private final List<WantedBlock> others = new ArrayList<>();
    private final Map<BlockManagerId, BlockSource> sources = new HashMap<>();

    /**
     * The way to the blocks of one owner.
     *
     * @param path null if only Spark's fetch leads there
     * @param visible whether they are read where they are
     * @param copies what they are copied in if not
     */
    private record Way(@Nullable PeerPath path, boolean visible, List<Slab> copies) {}

    /**
     * Prepares to look up.
     *
     * @param slabs copies blocks that cannot be read where they are
     * @param maximumBytes of a block that is copied ahead
     */
    BlockLookup(ReadServices services, SlabReads slabs, long maximumBytes) {
        this.services = services;
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
        String self = services.blockManager().blockManagerId().executorId();
        List<List<WantedBlock>> remote = new ArrayList<>();
        byOwner.forEach((owner, blocks) -> {
            if (owner.executorId().equals(self)) {
                read(blocks, new LocalBlocks(services.store()));
            } else {
                remote.add(blocks);
            }
        });
        List<Supplier<Way>> lookups = new ArrayList<>();
        remote.forEach(blocks -> lookups.add(() -> look(blocks)));
        List<@Nullable Way> ways = services.lookups().all(lookups);
        List<List<Slab>> copies = new ArrayList<>();
        for (int i = 0; i < ways.size(); i++) {
            take(remote.get(i), ways.get(i), copies);
        }
        copy(copies);
    }

    private void take(List<WantedBlock> blocks, @Nullable Way way, List<List<Slab>> copies) {
        PeerPath path = way == null ? null : way.path();
        if (way == null || path == null) {
            others.addAll(blocks);
        } else if (way.visible()) {
            read(blocks, new PeerBlocks(services.paths(), path));
        } else {
            CopiedBlocks source = new CopiedBlocks(path, way.copies(), slabs);
            sources.put(blocks.get(0).owner(), source);
            blocks.stream().filter(each -> !source.has(each)).forEach(others::add);
            copies.add(way.copies());
        }
    }

    private Way look(List<WantedBlock> blocks) {
        PeerPath path = services.paths().to(blocks.get(0).owner().executorId());
        if (path == null) {
            return new Way(null, false, List.of());
        }
        try (PeerBlocks probe = new PeerBlocks(services.paths(), path)) {
            if (probe.isVisible(blocks.get(0))) {
                return new Way(path, true, List.of());
            }
            if (probe.isBroken()) {
                return new Way(null, false, List.of());
            }
        }
        return new Way(path, false, new SlabPlanner(services.paths(), path, maximumBytes).plan(blocks));
    }

    /** Has blocks read where they are, as far as they are there. */
    private void read(List<WantedBlock> blocks, BlockSource source) {
        sources.put(blocks.get(0).owner(), source);
        long mapId = -1;
        boolean there = false;
        for (WantedBlock each : blocks) {
            if (each.id().mapId() != mapId) {
                mapId = each.id().mapId();
                there = source.has(each);
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
