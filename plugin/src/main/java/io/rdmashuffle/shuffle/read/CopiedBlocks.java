// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.store.ShuffleCounter;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Blocks of a peer whose memory cannot be mapped: they are copied here slab by slab, ahead of the task.
 *
 * <p>Nothing watches the peer's memory while it is read. Where a map output was, it stays for longer than what is known
 * of it is trusted; and a block that is something else by then has another checksum.
 *
 * <p><b>Ownership:</b> closes the slab reads, which it shares with those of other peers.
 */
final class CopiedBlocks implements BlockSource {
    private final PeerPath path;
    private final SlabReads reads;
    private final IdentityHashMap<WantedBlock, Place> places = new IdentityHashMap<>();

    private record Place(Slab slab, Slab.Part part) {}

    /**
     * Knows the blocks of one peer's slabs.
     *
     * @param reads brings the slabs
     */
    CopiedBlocks(PeerPath path, List<Slab> slabs, SlabReads reads) {
        this.path = path;
        this.reads = reads;
        for (Slab slab : slabs) {
            for (Slab.Part part : slab.parts()) {
                places.put(part.block(), new Place(slab, part));
            }
        }
    }

    @Override
    public boolean lookUp(WantedBlock wanted) {
        return places.containsKey(wanted);
    }

    @Override
    public @Nullable InPlaceBlock<StoredBlock> find(WantedBlock wanted) {
        Place place = places.get(wanted);
        MemorySlice slab = place == null ? null : reads.await(place.slab());
        if (place == null || slab == null) {
            return null;
        }
        Slab.Part part = place.part();
        MemorySlice bytes = slab.slice(part.offset(), part.lengthBytes());
        return new InPlaceBlock<>(
                new StoredBlock(List.of(bytes), part.lengthBytes(), part.checksum()), () -> true, () -> {});
    }

    /** {@inheritDoc} Its owner may have moved it, and freed what was read. */
    @Override
    public void damaged(WantedBlock wanted) {
        path.directory().outdated(wanted.id().shuffleId());
    }

    @Override
    public ShuffleCounter counter() {
        return path.counter();
    }

    @Override
    public void close() {
        reads.close();
    }
}
