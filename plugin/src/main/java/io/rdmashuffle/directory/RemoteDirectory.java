// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
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
    public static final Duration RETRY_TIMEOUT = Duration.ofMillis(500);

    private final Peer peer;
    private final DirectoryLocation location;
    private final BlockingReads reads;
    private final RemoteTables tables;
    private final IndexReads indexes;
    private final Duration timeout;
    private final Duration trust;
    private final Map<Integer, KnownShuffle> shuffles = new ConcurrentHashMap<>();
    private volatile @Nullable Boolean visible;

    /** Reads the directory at {@code location} of {@code peer}, and keeps indexes that it copies in {@code cache}. */
    public RemoteDirectory(Peer peer, DirectoryLocation location, BlockingReads reads, IndexCache cache) {
        this(peer, location, reads, cache, RETRY_TIMEOUT, TRUST);
    }

    /** Sets how long a record may take to become whole; for tests that damage many. */
    public RemoteDirectory(
            Peer peer, DirectoryLocation location, BlockingReads reads, IndexCache cache, Duration timeout) {
        this(peer, location, reads, cache, timeout, TRUST);
    }

    /** Creates a directory with a given trust time of entries; for tests of entries that change. */
    RemoteDirectory(
            Peer peer,
            DirectoryLocation location,
            BlockingReads reads,
            IndexCache cache,
            Duration timeout,
            Duration trust) {
        this.peer = peer;
        this.location = location;
        this.reads = reads;
        this.tables = new RemoteTables(peer, reads, location);
        this.indexes = new IndexReads(peer, reads, cache);
        this.timeout = timeout;
        this.trust = trust;
    }

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
        return located != null ? located : known(shuffleId).refreshAndGet(mapId);
    }

    /** Returns the location of the first table, which is constant. */
    public DirectoryLocation location() {
        return location;
    }

    /**
     * Returns whether the peer's memory can be read where it is, tried on the place of a slot.
     *
     * @throws ReadFailedException if the peer is gone
     */
    public boolean isVisible() throws ReadFailedException {
        try (RemoteBytes slot = RemoteBytes.inPlace(peer, List.of(tables.home(0)))) {
            visible = slot != null;
            return slot != null;
        }
    }

    /** Returns whether {@link #isVisible} has said that this peer can only be copied from; asks nothing. */
    public boolean isCopied() {
        return Boolean.FALSE.equals(visible);
    }

    private KnownShuffle known(int shuffleId) {
        return shuffles.computeIfAbsent(shuffleId, id -> new KnownShuffle(id, peer, reads, tables, timeout, trust));
    }

    /**
     * Starts reads of slot, entries and indexes for later lookups. Does not wait, and skips records that are cached or
     * in flight. Lookups read the rest. For peers without in-place reads.
     *
     * @param start first partition that the task needs of each map output
     * @param end partition after the last one
     * @param executor processes arrived records; must run every task
     * @return completes with rows of indexes for {@link #ranges} when all have arrived; fails with a {@link
     *     ReadFailedException} if the peer cannot be read, or the pool has no room
     */
    public CompletableFuture<PrefetchedRows> prefetch(
            int shuffleId, Collection<Long> mapIds, int start, int end, Executor executor) {
        KnownShuffle shuffle = known(shuffleId);
        CompletableFuture<Void> entries =
                shuffle.isTrusted(mapIds) ? CompletableFuture.completedFuture(null) : shuffle.prefetch(executor);
        return entries.thenCompose(unused -> indexes.prefetch(
                shuffleId,
                readable(mapIds.stream()
                        .map(shuffle::trusted)
                        .filter(Objects::nonNull)
                        .map(Located::entry)),
                start,
                end,
                executor));
    }

    /**
     * Does so for all map outputs of a shuffle that the peer has, if nothing is known of the shuffle: for a task that
     * does not know yet which those are. Only indexes that other tasks need, too, are read. Of a peer that has nothing
     * of the shuffle nothing is remembered, and no region stays open for it.
     *
     * @return completes when all have arrived, or at once if something was known; fails as {@link #prefetch} does
     */
    public CompletableFuture<Void> prefetchAll(int shuffleId, Executor executor) {
        if (knows(shuffleId)) {
            return CompletableFuture.completedFuture(null);
        }
        KnownShuffle shuffle = known(shuffleId);
        return shuffle.prefetch(executor)
                .thenCompose(
                        unused -> indexes.prefetch(shuffleId, readable(shuffle.trusted().stream()), 0, 0, executor))
                .thenAccept(unused -> {})
                .whenComplete((done, failure) -> {
                    if (shuffle.isEmpty() && shuffles.remove(shuffleId, shuffle) && shuffles.isEmpty()) {
                        peer.releaseRegions();
                    }
                });
    }

    private List<DirectoryEntry> readable(Stream<DirectoryEntry> entries) {
        return entries.filter(entry -> entry.isReadable(peer.readsDisk())).toList();
    }

    /** Makes the next lookup read the slot of a shuffle, after another generation was detected. */
    public void outdated(int shuffleId, long generation) {
        KnownShuffle shuffle = shuffles.get(shuffleId);
        if (shuffle != null) {
            shuffle.distrust(generation);
        }
    }

    /**
     * Makes the next lookup read slot and indexes of a shuffle, after a wrong checksum.
     */
    public void outdated(int shuffleId) {
        indexes.forget(shuffleId);
        KnownShuffle shuffle = shuffles.get(shuffleId);
        if (shuffle != null) {
            shuffle.distrust();
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
        RemoteSlice place = shuffle == null ? tables.home(shuffleId) : shuffle.slot();
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

    /** Reads from many map outputs' indexes without prefetched rows. */
    public List<@Nullable BlockRange> ranges(List<WantedRange> wanted) throws IOException {
        return ranges(wanted, new PrefetchedRows());
    }

    /**
     * Reads from many map outputs' indexes at once where partitions lie: for a task that needs a little of each.
     *
     * @param rows rows that {@link #prefetch} has read
     * @return in the same order; null where an index is damaged or missing, and {@link #range} would say why
     * @throws IOException if the peer cannot be read
     */
    public List<@Nullable BlockRange> ranges(List<WantedRange> wanted, PrefetchedRows rows) throws IOException {
        return indexes.many(wanted, rows);
    }

    /** Returns whether a shuffle has been asked for. */
    public boolean knows(int shuffleId) {
        return shuffles.containsKey(shuffleId);
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

    /** Drops the cached state of a shuffle; returns whether that was the last one. */
    public boolean forget(int shuffleId) {
        indexes.forget(shuffleId);
        return shuffles.remove(shuffleId) != null && shuffles.isEmpty();
    }
}
