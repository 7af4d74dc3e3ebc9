// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.Located;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks up the blocks that a reduce task wants of one peer, all at once, and divides them among slabs.
 *
 * <p>All blocks of a map output are in slabs, or none.
 *
 * <p><b>Threading:</b> one thread.
 */
final class SlabPlanner {
    private static final Logger LOG = LoggerFactory.getLogger(SlabPlanner.class);

    /** Enough for a network to be busy while the next one is posted, and little of a pool. */
    private static final long SLAB_BYTES = 1 << 20;

    private final PeerPaths paths;
    private final PeerPath path;
    private final long maximumBytes;

    /** A block and the map output that it is of. */
    private record Candidate(WantedBlock wanted, DirectoryEntry entry) {
        WantedRange range() {
            int partition = wanted.id().reduceId();
            return new WantedRange(wanted.id().shuffleId(), entry, partition, partition + 1);
        }
    }

    /**
     * Prepares to look up.
     *
     * @param maximumBytes of a block; larger ones are left to Spark's fetch, which may bring them to a file
     */
    SlabPlanner(PeerPaths paths, PeerPath path, long maximumBytes) {
        this.paths = paths;
        this.path = path;
        this.maximumBytes = maximumBytes;
    }

    /** Returns slabs with those of the blocks that can be copied, in the same order. */
    List<Slab> plan(List<WantedBlock> blocks) {
        try {
            List<Candidate> candidates = locate(blocks);
            return divide(
                    candidates,
                    path.directory()
                            .ranges(candidates.stream().map(Candidate::range).toList()));
        } catch (ReadFailedException e) {
            if (e.reason().isFaultOfPath()) {
                paths.failed(path, e);
            } else {
                LOG.debug("Cannot look up blocks of executor {}", path.executorId(), e);
            }
        } catch (IOException e) {
            LOG.warn("Fetching blocks of executor {} over Spark's block transfer", path.executorId(), e);
        }
        return List.of();
    }

    private List<Candidate> locate(List<WantedBlock> blocks) throws IOException {
        List<Candidate> candidates = new ArrayList<>(blocks.size());
        long mapId = -1;
        DirectoryEntry entry = null;
        for (WantedBlock each : blocks) {
            if (each.id().mapId() != mapId) {
                mapId = each.id().mapId();
                Located located = path.directory().locate(each.id().shuffleId(), mapId);
                entry = located != null && isReadable(located.entry()) ? located.entry() : null;
            }
            if (entry != null) {
                candidates.add(new Candidate(each, entry));
            }
        }
        return candidates;
    }

    private boolean isThere(int shuffleId, DirectoryEntry entry) throws IOException {
        return entry.equals(path.directory().find(shuffleId, entry.mapId()));
    }

    private boolean isReadable(DirectoryEntry entry) {
        return entry.extents() > 0 && entry.isReadable(path.peer().readsDisk());
    }

    private List<Slab> divide(List<Candidate> candidates, List<@Nullable BlockRange> ranges) {
        Set<Long> refused = new HashSet<>();
        for (int i = 0; i < ranges.size(); i++) {
            BlockRange range = ranges.get(i);
            // Spark asks for no empty blocks: an index that says so is one whose memory was freed and cleared.
            if (range == null || range.slices().isEmpty() || range.lengthBytes() > maximumBytes) {
                refused.add(candidates.get(i).entry().mapId());
            }
        }
        List<Slab> slabs = new ArrayList<>();
        Slab filled = null;
        for (int i = 0; i < ranges.size(); i++) {
            BlockRange range = ranges.get(i);
            if (range == null || refused.contains(candidates.get(i).entry().mapId())) {
                continue;
            }
            if (filled == null || filled.lengthBytes() + range.lengthBytes() > SLAB_BYTES) {
                filled = new Slab(path, this::isThere);
                slabs.add(filled);
            }
            filled.add(candidates.get(i).wanted(), candidates.get(i).entry(), range);
        }
        return slabs;
    }
}
