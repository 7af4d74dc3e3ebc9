// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.DirectoryEntry.Place;
import io.rdmashuffle.directory.PrefetchedRows;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.directory.WantedRange;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.peer.PeerPath;
import io.rdmashuffle.peer.PeerPaths;
import io.rdmashuffle.shuffle.read.BlockLocation.Elsewhere;
import io.rdmashuffle.shuffle.read.FetchBatch.Copied;
import io.rdmashuffle.store.OutputKey;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks of a peer whose memory cannot be mapped: batches of them are copied here ahead of the task.
 *
 * <p>Nothing watches the peer's memory meanwhile. Freed memory stays unchanged for longer than a location is trusted,
 * and bytes of anything else have another checksum.
 *
 * <p><b>Ownership:</b> closes the window, which it shares with other peers' blocks.
 */
final class CopiedBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(CopiedBlocks.class);

    /** Enough for a network to be busy while the next one is posted, and little of a pool. */
    private static final long BATCH_BYTES = 1 << 20;

    private final PeerPaths paths;
    private final PeerPath path;
    private final FetchWindow window;
    private final long maximumBytes;

    /** A block and the map output that it is part of. */
    private record Candidate(BlockRequest request, DirectoryEntry entry) {
        WantedRange range() {
            int partition = request.id().reduceId();
            return new WantedRange(request.id().shuffleId(), entry, partition, partition + 1);
        }
    }

    /** A read of the peer's directory. */
    @FunctionalInterface
    private interface Lookup<T> {
        @Nullable
        T run() throws IOException;
    }

    /**
     * Prepares to read from one peer.
     *
     * @param window reads the batches
     * @param maximumBytes of a block; longer ones are left to Spark's block transfer, which may bring them to a file
     */
    CopiedBlocks(PeerPaths paths, PeerPath path, FetchWindow window, long maximumBytes) {
        this.paths = paths;
        this.path = path;
        this.window = window;
        this.maximumBytes = maximumBytes;
    }

    /**
     * Looks up blocks and divides the readable ones among batches, in the same order. All blocks of a map output are in
     * batches, or none.
     *
     * @param rows rows of indexes that were prefetched
     */
    List<FetchBatch> plan(List<BlockRequest> requests, PrefetchedRows rows) {
        try {
            List<Candidate> candidates = locate(requests);
            return divide(candidates, ranges(candidates, rows));
        } catch (ReadFailedException e) {
            paths.failed(path, e);
        } catch (IOException e) {
            LOG.warn("Directory of executor {} is damaged; Spark's block transfer serves it", path.executorId(), e);
        }
        return List.of();
    }

    /** Reads indexes, all at once; one by one if that fails, so that a bad entry does not cost others their path. */
    private List<@Nullable BlockRange> ranges(List<Candidate> candidates, PrefetchedRows rows) throws IOException {
        List<WantedRange> wanted = candidates.stream().map(Candidate::range).toList();
        List<@Nullable BlockRange> ranges = new ArrayList<>(Collections.nCopies(wanted.size(), null));
        try {
            ranges = new ArrayList<>(path.directory().ranges(wanted, rows));
        } catch (ReadFailedException e) {
            if (!concernsOneOutput(e)) {
                throw e;
            }
            LOG.debug("Looking up blocks of executor {} one by one", path.executorId(), e);
        }
        for (int i = 0; i < ranges.size(); i++) {
            if (ranges.get(i) == null) {
                WantedRange each = wanted.get(i);
                OutputKey output = new OutputKey(each.shuffleId(), each.entry().mapId());
                ranges.set(i, orNull(output, () -> path.directory().range(each)));
            }
        }
        return ranges;
    }

    /** Reads from the directory; null if the entry or index of that one output is damaged or cannot be read. */
    private <T> @Nullable T orNull(Object output, Lookup<T> lookup) throws ReadFailedException {
        try {
            return lookup.run();
        } catch (ReadFailedException e) {
            if (!concernsOneOutput(e)) {
                throw e;
            }
            LOG.debug("Cannot look up {} of executor {}", output, path.executorId(), e);
        } catch (IOException e) {
            LOG.warn(
                    "Directory entry or index of {} of executor {} is damaged; Spark's block transfer serves it",
                    output,
                    path.executorId(),
                    e);
        }
        return null;
    }

    /**
     * Returns whether other outputs of the peer can be read; an entry outside its regions is damaged or very old. After
     * a lack of room no other is tried, since it would wait as long.
     */
    private static boolean concernsOneOutput(ReadFailedException failure) {
        return failure.reason() != Reason.NO_ROOM
                && (!failure.reason().concernsPath() || failure.reason() == Reason.OUT_OF_BOUNDS);
    }

    private List<Candidate> locate(List<BlockRequest> requests) throws IOException {
        List<Candidate> candidates = new ArrayList<>(requests.size());
        long mapId = -1;
        DirectoryEntry entry = null;
        for (BlockRequest each : requests) {
            if (each.id().mapId() != mapId) {
                mapId = each.id().mapId();
                entry = orNull(
                        each.id(),
                        () -> path.directory()
                                .find(each.id().shuffleId(), each.id().mapId()));
            }
            if (entry != null && isReadable(entry)) {
                candidates.add(new Candidate(each, entry));
            } else if (entry != null && entry.place() == Place.FILE) {
                each.locate(Elsewhere.FILE);
            }
        }
        return candidates;
    }

    private boolean isReadable(DirectoryEntry entry) {
        return entry.extents() > 0 && entry.isReadable(path.peer().readsDisk());
    }

    private List<FetchBatch> divide(List<Candidate> candidates, List<@Nullable BlockRange> ranges) {
        Set<Long> refused = new HashSet<>();
        for (int i = 0; i < ranges.size(); i++) {
            BlockRange range = ranges.get(i);
            // Spark requests no empty blocks: an index with one lies in memory that was freed and cleared.
            if (range == null || range.slices().isEmpty() || range.lengthBytes() > maximumBytes) {
                refused.add(candidates.get(i).entry().mapId());
            }
        }
        List<FetchBatch> batches = new ArrayList<>();
        FetchBatch filled = null;
        long now = System.nanoTime();
        for (int i = 0; i < ranges.size(); i++) {
            BlockRange range = ranges.get(i);
            if (range == null || refused.contains(candidates.get(i).entry().mapId())) {
                continue;
            }
            if (filled == null || filled.lengthBytes() + range.lengthBytes() > BATCH_BYTES) {
                filled = new FetchBatch(path, this::refresh, now);
                batches.add(filled);
            }
            filled.add(candidates.get(i).request(), candidates.get(i).entry(), range);
        }
        return batches;
    }

    /** Looks up the map outputs of a batch again; returns false if it cannot be read as a whole any more. */
    private boolean refresh(FetchBatch batch) throws IOException {
        List<Candidate> candidates = locate(batch.requests());
        if (candidates.size() != batch.requests().size()) {
            return false;
        }
        List<DirectoryEntry> entries = candidates.stream().map(Candidate::entry).toList();
        return batch.isAt(entries) || batch.moveTo(entries, ranges(candidates, new PrefetchedRows()));
    }

    @Override
    public @Nullable Block find(BlockRequest request) {
        if (!(request.location() instanceof Copied copied)) {
            return null;
        }
        MemorySlice batch = window.await(copied.batch());
        if (batch == null) {
            return null;
        }
        MemorySlice bytes = batch.slice(copied.offset(), copied.lengthBytes());
        return new Block(
                new StoredBlock(List.of(bytes), copied.lengthBytes(), copied.checksum()), () -> true, () -> {});
    }

    /** {@inheritDoc} The owner may have moved the map output and freed its memory. */
    @Override
    public void damaged(BlockRequest request) {
        path.directory().outdated(request.id().shuffleId());
    }

    @Override
    public ShuffleCounter counter() {
        return path.counter();
    }

    @Override
    public void close() {
        window.close();
    }
}
