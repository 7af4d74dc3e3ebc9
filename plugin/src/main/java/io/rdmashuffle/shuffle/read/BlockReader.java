// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import io.rdmashuffle.directory.Crc32c;
import io.rdmashuffle.directory.StoredBlock;
import io.rdmashuffle.lifecycle.Unchecked;
import io.rdmashuffle.shuffle.buffer.MovingBytes;
import io.rdmashuffle.shuffle.buffer.SliceInputStream;
import io.rdmashuffle.shuffle.format.Frames;
import io.rdmashuffle.shuffle.read.Block.Outcome;
import io.rdmashuffle.store.ShuffleCounter;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.apache.spark.shuffle.FetchFailedException;
import org.apache.spark.storage.BlockManagerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reader of the blocks of one reduce task, in order, from mapped or copied memory: each byte once, and checked before
 * it is used.
 *
 * <p>A block that fits into what the caller offers is copied and checked there, so that a cache line is fetched once. A
 * larger one is checked where it lies and copied in pieces.
 *
 * <p><b>Threading:</b> thread-safe: tasks may end while a thread of theirs still reads, as {@code RDD.pipe}'s does.
 * <b>Ownership:</b> owns its sources.
 */
final class BlockReader implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(BlockReader.class);

    /** A caller may offer room for a record of any size; a compressed block is copied once more. */
    private static final int MAX_COPIED_BYTES = 1 << 20;

    private Iterator<BlockRequest> wanted;
    private final Map<BlockManagerId, BlockSource> sources;
    private final Runnable wake;
    private final ReadTally tally;
    private final boolean verify;
    private final CRC32C crc = new CRC32C();
    private List<BlockRequest> missed = new ArrayList<>();
    private boolean closed;
    private @Nullable BlockRequest next;
    private final @Nullable Frames frames;
    private @Nullable Opened opened;

    /**
     * Block that is read in pieces, because it is large or compressed.
     *
     * @param place location of a large block; null for a copied one
     * @param records its remaining bytes
     */
    private record Opened(BlockRequest wanted, @Nullable FollowedBlock place, InputStream records)
            implements AutoCloseable {
        @Override
        public void close() {
            try {
                records.close();
            } catch (IOException e) {
                LOG.debug("Cannot close {}", wanted.id(), e);
            } finally {
                if (place != null) {
                    place.close();
                }
            }
        }
    }

    /**
     * Available block.
     *
     * @param bytes its stored bytes, valid until the next block
     */
    record Begun(BlockRequest wanted, InputStream bytes) {}

    /**
     * Reads blocks in order.
     *
     * @param sources of all their owners
     * @param wake makes a thread that waits for a source fail; for any thread
     * @param verify whether to compare blocks with their checksums
     * @param frames opens compressed blocks; null if stored bytes are returned
     */
    BlockReader(
            List<BlockRequest> wanted,
            Map<BlockManagerId, BlockSource> sources,
            Runnable wake,
            ReadTally tally,
            boolean verify,
            @Nullable Frames frames) {
        this.wanted = wanted.iterator();
        this.sources = sources;
        this.wake = wake;
        this.tally = tally;
        this.verify = verify;
        this.frames = frames;
    }

    /** Passes on the blocks that were missing, damaged or withdrawn; complete after the last read. */
    synchronized List<BlockRequest> takeMissed() {
        List<BlockRequest> taken = missed;
        missed = new ArrayList<>();
        return taken;
    }

    /**
     * Copies as many bytes as are there and fit; -1 after the last block. At least one byte has room.
     *
     * @throws IOException if this was closed because the task has ended
     */
    synchronized int read(byte[] target, int offset, int length) throws IOException {
        if (closed) {
            throw ended();
        }
        int filled = 0;
        while (filled < length) {
            if (opened != null) {
                filled += readOpened(opened, target, offset + filled, length - filled);
                continue;
            }
            BlockRequest block = next();
            if (block == null) {
                break;
            }
            int copied = take(block, target, offset + filled, length - filled, filled == 0);
            if (copied < 0) {
                break;
            }
            next = null;
            filled += copied;
        }
        return filled == 0 ? -1 : filled;
    }

    /**
     * Advances to the next available block, and drops the rest of the previous one; null after the last block.
     *
     * @param buffer target of the copy if the block fits, valid until the next block
     * @throws IOException if this was closed because the task has ended
     */
    synchronized @Nullable Begun begin(byte[] buffer) throws IOException {
        if (closed) {
            throw ended();
        }
        closeOpened();
        for (BlockRequest block = next(); block != null; block = next()) {
            next = null;
            int copied = take(block, buffer, 0, buffer.length, true);
            if (copied > 0) {
                return new Begun(block, new ByteArrayInputStream(buffer, 0, copied));
            }
            if (opened != null) {
                return new Begun(block, new OpenedStream(opened));
            }
        }
        return null;
    }

    /** A block that is read in pieces, until the next one is begun. */
    private final class OpenedStream extends InputStream {
        private final Opened block;

        OpenedStream(Opened block) {
            this.block = block;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            Objects.checkFromIndexSize(offset, length, target.length);
            synchronized (BlockReader.this) {
                if (closed) {
                    throw ended();
                }
                if (length == 0) {
                    return 0;
                }
                int count = block.equals(opened) ? readOpened(block, target, offset, length) : 0;
                return count == 0 ? -1 : count;
            }
        }
    }

    private static IOException ended() {
        return new IOException("the task that read these blocks has ended");
    }

    private @Nullable BlockRequest next() {
        if (next == null && wanted.hasNext()) {
            next = wanted.next();
        }
        return next;
    }

    /** Copies a block, or opens it to be read in pieces, or notes it as missed; -1 if it waits for a larger buffer. */
    private int take(BlockRequest block, byte[] target, int offset, int room, boolean first) {
        BlockSource source = sources.get(block.owner());
        Block found = source == null ? null : source.find(block);
        if (source == null || found == null) {
            missed.add(block);
            return 0;
        }
        if (found.bytes().lengthBytes() <= Math.min(room, MAX_COPIED_BYTES)) {
            try (found) {
                return copy(block, found, target, offset, source.counter());
            } catch (IOException e) {
                return unreadable(block, e);
            }
        }
        if (!first) {
            found.close();
            return -1;
        }
        open(block, found, source);
        return 0;
    }

    private int copy(BlockRequest block, Block found, byte[] target, int offset, ShuffleCounter counter)
            throws IOException {
        StoredBlock bytes = found.bytes();
        int length = (int) bytes.lengthBytes();
        bytes.copyTo(target, offset);
        boolean intact = !verify || checksum(target, offset, length) == bytes.checksum();
        if (!isGood(block, found.outcome(intact))) {
            return 0;
        }
        tally.count(counter, block.id(), length);
        tally.countFromDisk(bytes.bytesOnDisk());
        if (frames != null && Frames.begin(target, offset, length)) {
            byte[] stored = Arrays.copyOfRange(target, offset, offset + length);
            opened = new Opened(block, null, frames.decompress(new ByteArrayInputStream(stored)));
            return 0;
        }
        return length;
    }

    /** Marks an unreadable block on disk as missed: its owner is asked, and diagnoses it. */
    private int unreadable(BlockRequest block, IOException cause) {
        LOG.warn(
                "Cannot read {} in the disk tier of executor {}; Spark's block transfer fetches the block",
                block.id(),
                block.owner().executorId(),
                cause);
        missed.add(block);
        return 0;
    }

    /** Starts to read a block in pieces. */
    private void open(BlockRequest block, Block found, BlockSource source) {
        boolean good = false;
        try {
            // Before the check, which vouches for all that was read.
            Frames framed = frames != null && Frames.begin(found.bytes()) ? frames : null;
            good = isGood(block, found.check(verify));
            if (good) {
                tally.count(source.counter(), block.id(), found.bytes().lengthBytes());
                tally.countFromDisk(found.bytes().bytesOnDisk());
                FollowedBlock place = new FollowedBlock(found, () -> source.find(block), verify);
                InputStream stored = SliceInputStream.over(place.place(), place);
                opened = new Opened(block, place, framed == null ? stored : framed.decompress(stored));
            }
        } catch (IOException e) {
            unreadable(block, e);
        } finally {
            if (!good) {
                found.close();
            }
        }
    }

    private int checksum(byte[] bytes, int offset, int length) {
        crc.reset();
        Crc32c.update(crc, bytes, offset, length);
        return (int) crc.getValue();
    }

    /** Returns whether a block was read as it was written; else notes that it is missed. */
    private boolean isGood(BlockRequest block, Outcome outcome) {
        if (outcome == Outcome.GOOD) {
            return true;
        }
        if (outcome == Outcome.DAMAGED) {
            tally.countChecksumFailure();
            LOG.warn(
                    "Wrong checksum of {} in the pool of executor {}: its bytes are not used, and Spark's block"
                            + " transfer fetches the block",
                    block.id(),
                    block.owner().executorId());
            BlockSource source = sources.get(block.owner());
            if (source != null) {
                source.damaged(block);
            }
        }
        missed.add(block);
        return false;
    }

    private int readOpened(Opened block, byte[] target, int offset, int length) throws IOException {
        try {
            int count = block.records().read(target, offset, length);
            if (count >= 0) {
                return count;
            }
        } catch (IOException e) {
            throw fetchFailed(block.wanted(), e);
        }
        closeOpened();
        return 0;
    }

    /**
     * Throws an undeclared {@link FetchFailedException} for an invalid block. If the task has ended, the block's owner
     * is not at fault, and the cause itself is thrown.
     */
    RuntimeException fetchFailed(BlockRequest block, IOException cause) {
        synchronized (this) {
            if (closed) {
                throw Unchecked.raise(cause);
            }
        }
        throw Unchecked.raise(new FetchFailedException(
                block.owner(),
                block.id().shuffleId(),
                block.id().mapId(),
                block.mapIndex(),
                block.id().reduceId(),
                "the block cannot be read to its end: " + cause.getMessage(),
                cause));
    }

    private void closeOpened() {
        Opened open = opened;
        opened = null;
        if (open != null) {
            open.close();
        }
    }

    /** Releases all memory and forgets the blocks left: the task's listeners keep this object until the task ends. */
    @Override
    public void close() {
        wake.run();
        synchronized (this) {
            closed = true;
            wanted = Collections.emptyIterator();
            next = null;
            closeOpened();
            tally.report();
            sources.values().forEach(BlockSource::close);
            sources.clear();
        }
    }

    /**
     * A block that is read in place, in pieces, and may be moved by its owner meanwhile: then it is looked up again,
     * and compared with its checksum again before anything of it is used.
     *
     * <p><b>Threading:</b> thread-safe; one thread reads, another may close.
     *
     * <p><b>Ownership:</b> owns the block that it begins with and the blocks that it finds; all stay mapped until it is
     * closed, since streams may have begun at any of them.
     */
    private static final class FollowedBlock implements MovingBytes, AutoCloseable {
        /** Other outputs of the shuffle may be freed one after another, and each time it has to be looked up again. */
        private static final int MAX_ATTEMPTS = 5;

        private final Finder finder;
        private final boolean verify;
        private final List<Block> found = new ArrayList<>();
        private Place place;
        private boolean closed;

        /** Lookup of a block. */
        @FunctionalInterface
        interface Finder {
            /** Returns the block where it is now, owned by the caller; null if it is not to be had in place. */
            @Nullable
            Block find();
        }

        /**
         * Follows a block that was found and is good.
         *
         * @param verify whether to compare it with its checksum
         */
        FollowedBlock(Block block, Finder finder, boolean verify) {
            this.found.add(block);
            this.place = placeOf(block);
            this.finder = finder;
            this.verify = verify;
        }

        private static Place placeOf(Block block) {
            return new Place(block.bytes().pieces(), block.current());
        }

        /** Returns the last location of the block. */
        synchronized Place place() {
            return place;
        }

        @Override
        public synchronized @Nullable Place moved(Place from) throws IOException {
            if (closed) {
                return null;
            }
            if (!place.equals(from)) {
                return place;
            }
            for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
                Block next = finder.find();
                if (next == null) {
                    return null;
                }
                found.add(next);
                Outcome outcome = check(next);
                if (outcome != Outcome.WITHDRAWN) {
                    place = placeOf(next);
                    return outcome == Outcome.GOOD ? place : null;
                }
            }
            return null;
        }

        private Outcome check(Block next) throws IOException {
            try {
                return next.check(verify);
            } catch (IOException e) {
                if (next.current().getAsBoolean()) {
                    throw e;
                }
                return Outcome.WITHDRAWN;
            }
        }

        @Override
        public synchronized void close() {
            closed = true;
            found.forEach(Block::close);
            found.clear();
        }
    }
}
