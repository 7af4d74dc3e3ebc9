// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The reader's side of a peer's directory: entries are read in bulk, once per shuffle, and again on a miss, or when the
 * slot says after a while that some have changed.
 *
 * <p>Map ids are never used twice, but an output may move while its shuffle lives; where it was, it stays readable for
 * longer than {@link #TRUST} and a read together. A shuffle that was removed and is written again, which Spark does,
 * has another generation and may have another slot. The owner publishes before it reports success, so a map output that
 * the driver knows of and a fresh read does not show is not in this peer's directory.
 *
 * <p><b>Threading:</b> thread-safe; one thread refreshes a shuffle while others wait for it, each read has a deadline.
 *
 * <p><b>Ownership:</b> owns nothing; the owner of the peer closes it.
 */
public final class RemoteDirectory {
    /**
     * For how long an entry is used without another look at its shuffle's slot. A look costs a READ of 64 bytes.
     */
    public static final Duration TRUST = Duration.ofSeconds(20);

    /** A half-written record is complete after a few stores of its owner, which may be descheduled between them. */
    private static final Duration RETRY_TIMEOUT = Duration.ofMillis(500);

    private static final long FIRST_PAUSE_NANOS = 20_000;
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private final Peer peer;
    private final BlockingReads reads;
    private final RemoteTables tables;
    private final IndexReads indexes;
    private final Duration timeout;
    private final Duration trust;
    private final Map<Integer, KnownShuffle> shuffles = new ConcurrentHashMap<>();

    /** Reads the directory at {@code location} of {@code peer}, and keeps indexes that it copies in {@code cache}. */
    public RemoteDirectory(Peer peer, DirectoryLocation location, BlockingReads reads, IndexCache cache) {
        this(peer, location, reads, cache, RETRY_TIMEOUT, TRUST);
    }

    /** Gives a record that long to become whole; for tests that damage many. */
    RemoteDirectory(Peer peer, DirectoryLocation location, BlockingReads reads, IndexCache cache, Duration timeout) {
        this(peer, location, reads, cache, timeout, TRUST);
    }

    /** Likewise, and uses an entry that long without another look; for tests of entries that change. */
    RemoteDirectory(
            Peer peer,
            DirectoryLocation location,
            BlockingReads reads,
            IndexCache cache,
            Duration timeout,
            Duration trust) {
        this.peer = peer;
        this.reads = reads;
        this.tables = new RemoteTables(peer, reads, location);
        this.indexes = new IndexReads(peer, reads, cache);
        this.timeout = timeout;
        this.trust = trust;
    }

    /**
     * An entry, and the generation of its shuffle's slot that it was read under.
     *
     * @param generation see {@link #watch}
     */
    public record Located(DirectoryEntry entry, long generation) {}

    /**
     * Finds a map output; null if the peer's directory has none of that id.
     *
     * @throws IOException if the directory cannot be read or is damaged
     */
    public @Nullable DirectoryEntry find(int shuffleId, long mapId) throws IOException {
        Located located = locate(shuffleId, mapId);
        return located == null ? null : located.entry();
    }

    /** Finds a map output as {@link #find} does, for readers that use the peer's memory in place. */
    public @Nullable Located locate(int shuffleId, long mapId) throws IOException {
        KnownShuffle shuffle = shuffles.get(shuffleId);
        Located located = shuffle == null ? null : shuffle.trusted(mapId);
        return located != null
                ? located
                : shuffles.computeIfAbsent(shuffleId, KnownShuffle::new).refreshAndGet(mapId);
    }

    /** Has the next look-up read the slot of a shuffle of which something was found to be of another generation. */
    public void outdated(int shuffleId, long generation) {
        KnownShuffle shuffle = shuffles.get(shuffleId);
        if (shuffle != null && shuffle.known.generation() == generation) {
            shuffle.trustedUntil = System.nanoTime();
        }
    }

    /**
     * Has the next look-up read slot and indexes of a shuffle, bytes of which were not what they are said to be.
     */
    public void outdated(int shuffleId) {
        indexes.forget(shuffleId);
        KnownShuffle shuffle = shuffles.get(shuffleId);
        if (shuffle != null) {
            shuffle.trustedUntil = System.nanoTime();
        }
    }

    /**
     * Watches the slot of a shuffle in the peer's own memory: bytes read before the slot is found unchanged are the
     * shuffle's, because the owner changes the slot before it frees a byte. The caller closes the watch. One of a
     * generation that this directory has seen succeeded is never current.
     *
     * @return null if this fabric cannot show the peer's memory
     */
    public @Nullable SlotWatch watch(int shuffleId, long generation) throws IOException {
        KnownShuffle shuffle = shuffles.get(shuffleId);
        // No generation comes twice, so a slot that is not the right one does not have it.
        RemoteSlice place = shuffle == null ? tables.home(shuffleId) : shuffle.known.slot();
        RemoteBytes slot = RemoteBytes.inPlace(peer, List.of(place));
        return slot == null ? null : new SlotWatch(slot, generation);
    }

    /**
     * Reads from a map output's index where partitions lie.
     *
     * @throws IOException if the index cannot be read or is damaged
     */
    public BlockRange range(WantedRange wanted) throws IOException {
        return indexes.one(wanted);
    }

    /**
     * Reads from many map outputs' indexes at once where partitions lie: for a task that needs a little of each.
     *
     * @return in the same order; null where an index is damaged or missing, and {@link #range} would say why
     * @throws IOException if the peer cannot be read
     */
    public List<@Nullable BlockRange> ranges(List<WantedRange> wanted) throws IOException {
        return indexes.many(wanted);
    }

    /** Returns the shuffles of which something is known. */
    public Set<Integer> shuffleIds() {
        return Set.copyOf(shuffles.keySet());
    }

    /** Drops all that is known, for whoever closes the peer. */
    public void forget() {
        indexes.forget();
        shuffles.clear();
    }

    /** Drops what is known of a shuffle; returns whether that was the last one. */
    public boolean forget(int shuffleId) {
        indexes.forget(shuffleId);
        return shuffles.remove(shuffleId) != null && shuffles.isEmpty();
    }

    private static DirectoryFormatException damaged(String what, RuntimeException cause) {
        DirectoryFormatException damaged = new DirectoryFormatException(what + " is damaged: " + cause.getMessage());
        damaged.initCause(cause);
        return damaged;
    }

    /** Entries that were read under one generation and revision, and the slot that has them. */
    private record Known(EntryTable entries, long generation, long revision, RemoteSlice slot) {
        @Nullable
        Located get(long mapId) {
            DirectoryEntry entry = entries.get(mapId);
            return entry == null ? null : new Located(entry, generation);
        }

        Known with(List<DirectoryEntry> added) {
            return new Known(entries.with(added), generation, revision, slot);
        }
    }

    /** What has been read of one shuffle. */
    private final class KnownShuffle {
        private final int shuffleId;
        private volatile Known known;
        private volatile long trustedUntil = System.nanoTime();
        private int read;
        /** Whether the last look at the slot showed all of it. */
        private boolean slotSeen;
        /**
         * Whether the last retries timed out: a record damaged for good must not cost every block of its shuffle a
         * timeout.
         */
        private boolean gaveUp;

        KnownShuffle(int shuffleId) {
            this.shuffleId = shuffleId;
            this.known = new Known(EntryTable.empty(), 0, 0, tables.home(shuffleId));
        }

        @Nullable
        Located trusted(long mapId) {
            // The time first: what is known is at least as new.
            return System.nanoTime() - trustedUntil < 0 ? known.get(mapId) : null;
        }

        synchronized @Nullable Located refreshAndGet(long mapId) throws IOException {
            Located located = trusted(mapId);
            if (located != null) {
                return located;
            }
            long deadline = System.nanoTime() + (gaveUp ? 0 : timeout.toNanos());
            long pauseNanos = FIRST_PAUSE_NANOS;
            try {
                do {
                    long now = System.nanoTime();
                    slotSeen = false;
                    boolean complete = readNewEntries();
                    if (slotSeen) {
                        trustedUntil = now + trust.toNanos();
                    }
                    located = known.get(mapId);
                    if (complete || (slotSeen && located != null)) {
                        gaveUp = gaveUp && !complete;
                        return located;
                    }
                    LockSupport.parkNanos(pauseNanos);
                    pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
                } while (System.nanoTime() - deadline < 0);
            } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
                throw damaged("directory of shuffle " + shuffleId, e);
            }
            gaveUp = true;
            throw new DirectoryFormatException("directory of shuffle " + shuffleId + " has had a wrong checksum for "
                    + Quantities.duration(timeout));
        }

        /** Reads slot and entries; false when a record was caught half written. */
        private boolean readNewEntries() throws IOException {
            RemoteTables.Search search = tables.find(shuffleId);
            ByteBuffer slot = search.slot();
            slotSeen = slot != null || !search.torn();
            if (slot == null) {
                if (slotSeen) {
                    startOver(0, 0, search.place());
                }
                return slotSeen;
            }
            startOver(
                    slot.getLong(DirectoryLayout.SLOT_GENERATION),
                    slot.getLong(DirectoryLayout.SLOT_REVISION),
                    search.place());
            int published = slot.getInt(DirectoryLayout.SLOT_ENTRIES);
            if (published <= read) {
                return true;
            }
            RemoteSlice segment = new RemoteSlice(
                    slot.getInt(DirectoryLayout.SLOT_REGION),
                    slot.getLong(DirectoryLayout.SLOT_OFFSET) + read * DirectoryLayout.RECORD_BYTES,
                    (published - read) * DirectoryLayout.RECORD_BYTES);
            VarHandle.acquireFence();
            return readEntries(segment, published);
        }

        /**
         * What was read of an earlier generation is gone at its owner: Spark may remove a shuffle and write it again.
         * What was read of an earlier revision may have moved.
         */
        private void startOver(long generation, long revision, RemoteSlice place) {
            if (generation != known.generation() || revision != known.revision()) {
                known = new Known(EntryTable.empty(), generation, revision, place);
                read = 0;
            }
        }

        private boolean readEntries(RemoteSlice segment, int published) throws IOException {
            List<DirectoryEntry> added = new ArrayList<>();
            try (RemoteBytes bytes = reads.read(peer, List.of(segment))) {
                MemorySlice records = bytes.memory(0);
                for (int i = 0; i < published - read; i++) {
                    ByteBuffer record = DirectoryLayout.snapshot(
                            records.slice(i * DirectoryLayout.RECORD_BYTES, DirectoryLayout.RECORD_BYTES));
                    if (record == null) {
                        return false;
                    }
                    added.add(DirectoryEntry.read(record));
                }
                return true;
            } finally {
                // Complete entries are kept, whatever follows them.
                read += added.size();
                known = known.with(added);
            }
        }
    }
}
