package io.rdmashuffle.shuffle.direct;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.DirectoryEntry;
import io.rdmashuffle.directory.RemoteDirectory.Located;
import io.rdmashuffle.directory.SlotWatch;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.shuffle.PeerPath;
import io.rdmashuffle.shuffle.PeerPaths;
import io.rdmashuffle.shuffle.SliceInputStream;
import java.io.IOException;
import org.apache.spark.storage.ShuffleBlockId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Blocks in the pool of a peer whose memory this process sees. Its owner may give that memory away at any time, so each read is
 * good only if the shuffle's slot is unchanged after it.
 */
final class PeerBlocks implements BlockSource {
    private static final Logger LOG = LoggerFactory.getLogger(PeerBlocks.class);

    private final PeerPaths paths;
    private final PeerPath path;
    private final boolean verify;
    private @Nullable SlotWatch watch;
    private long watched;
    private boolean given;

    PeerBlocks(PeerPaths paths, PeerPath path, boolean verify) {
        this.paths = paths;
        this.path = path;
        this.verify = verify;
    }

    /** Returns whether this peer's memory can be seen at all, as one of its blocks shows. */
    boolean isVisible(WantedBlock any) {
        try {
            Located located =
                    path.directory().locate(any.id().shuffleId(), any.id().mapId());
            return located != null && watch(any.id().shuffleId(), located.generation()) != null;
        } catch (IOException e) {
            LOG.debug("the memory of executor {} cannot be seen", path.executorId(), e);
            return false;
        }
    }

    @Override
    public @Nullable OpenBlock open(WantedBlock wanted) {
        ShuffleBlockId id = wanted.id();
        if (given) {
            return null;
        }
        try {
            return find(id);
        } catch (ReadFailedException e) {
            given = true;
            if (e.reason() != ReadFailedException.Reason.NO_ROOM) {
                paths.failed(path, e);
            }
            return null;
        } catch (IOException e) {
            LOG.warn("{} of executor {} is fetched by other means", id, path.executorId(), e);
            return null;
        }
    }

    private @Nullable OpenBlock find(ShuffleBlockId id) throws IOException {
        Located located = path.directory().locate(id.shuffleId(), id.mapId());
        if (located == null || located.entry().place() != DirectoryEntry.Place.POOL) {
            return null;
        }
        SlotWatch slot = watch(id.shuffleId(), located.generation());
        BlockRange range = path.directory().range(located.entry(), id.reduceId(), id.reduceId() + 1);
        // Spark asks for no empty blocks: an index that says so is one whose memory was given away and cleared.
        RemoteBytes bytes =
                slot == null || range.slices().isEmpty() ? null : RemoteBytes.inPlace(path.peer(), range.slices());
        if (slot == null || bytes == null) {
            return null;
        }
        boolean opened = false;
        try {
            if (verify && !range.matches(bytes.slices())) {
                throw new IOException("wrong checksum");
            }
            if (!slot.isCurrent()) {
                return null;
            }
            opened = true;
            return new OpenBlock(
                    SliceInputStream.over(bytes.slices(), slot::isCurrent),
                    range.lengthBytes(),
                    path.counter(),
                    bytes::close);
        } finally {
            if (!opened) {
                bytes.close();
            }
        }
    }

    /** Returns a watch on the shuffle's slot in that generation; null if the peer's memory cannot be seen. */
    private @Nullable SlotWatch watch(int shuffleId, long generation) throws IOException {
        if (watch == null || watched != generation) {
            close();
            watch = path.directory().watch(shuffleId, generation);
            watched = generation;
        }
        return watch;
    }

    @Override
    public void close() {
        SlotWatch open = watch;
        watch = null;
        if (open != null) {
            open.close();
        }
    }
}
