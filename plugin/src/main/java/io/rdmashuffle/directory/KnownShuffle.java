// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.BlockingReads;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.text.Quantities;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Cache of one shuffle of a peer's directory: its slot, and the entries that the slot leads to.
 *
 * <p><b>Threading:</b> thread-safe; one thread refreshes while others wait for it, each read has a deadline. What a
 * prefetch brings is taken in only where no thread refreshes: it may come on the fabric's thread, which ends reads.
 */
final class KnownShuffle {
    private static final long FIRST_PAUSE_NANOS = 20_000;
    private static final long MAX_PAUSE_NANOS = 1_000_000;

    private final int shuffleId;
    private final Peer peer;
    private final BlockingReads reads;
    private final RemoteTables tables;
    private final Duration timeout;
    private final Duration trust;
    /** Held while slot and entries are read. */
    private final ReentrantLock refreshing = new ReentrantLock();

    private final AtomicReference<@Nullable CompletableFuture<Void>> prefetch = new AtomicReference<>();
    private volatile Known known;
    private volatile long trustedUntil = System.nanoTime();
    private int read;
    /** Whether the last look at the slot showed all of it. */
    private boolean slotSeen;
    /**
     * Whether the last retries timed out: a record damaged for good must not cost every block of its shuffle a timeout.
     */
    private boolean gaveUp;

    /**
     * Starts without an entry.
     *
     * @param timeout for how long a record may be half written
     * @param trust for how long entries are used without another look at the slot
     */
    KnownShuffle(int shuffleId, Peer peer, BlockingReads reads, RemoteTables tables, Duration timeout, Duration trust) {
        this.shuffleId = shuffleId;
        this.peer = peer;
        this.reads = reads;
        this.tables = tables;
        this.timeout = timeout;
        this.trust = trust;
        this.known = new Known(EntryTable.empty(), 0, 0, tables.home(shuffleId));
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

        boolean isOf(long otherGeneration, long otherRevision) {
            return generation == otherGeneration && revision == otherRevision;
        }
    }

    /**
     * Entries that a slot leads to and that have not been read.
     *
     * @param first number of the first one
     * @param count how many
     * @param asked when the slot was asked for, by {@link System#nanoTime()}
     */
    private record Unread(long generation, long revision, RemoteSlice place, int first, int count, long asked) {}

    /** Returns the known location of the slot, or the one in the first table. */
    RemoteSlice slot() {
        return known.slot();
    }

    /** Makes the next lookup read the slot. */
    void distrust() {
        trustedUntil = System.nanoTime();
    }

    /** Does so if the cached state has that generation. */
    void distrust(long generation) {
        if (known.generation() == generation) {
            distrust();
        }
    }

    /** Finds an entry that may be used without another look at the slot. */
    @Nullable
    Located trusted(long mapId) {
        // The time first: the cached state is at least as new.
        return System.nanoTime() - trustedUntil < 0 ? known.get(mapId) : null;
    }

    /** Returns all entries that may be used so. */
    List<DirectoryEntry> trusted() {
        return System.nanoTime() - trustedUntil < 0 ? known.entries().all() : List.of();
    }

    /** Returns whether no entry is known. */
    boolean isEmpty() {
        return known.entries().isEmpty();
    }

    /** Returns whether all of these may be used so. */
    boolean isTrusted(Collection<Long> mapIds) {
        return mapIds.stream().allMatch(mapId -> trusted(mapId) != null);
    }

    /**
     * Finds an entry, and reads slot and new entries for that; null if there is none.
     *
     * @throws IOException if they cannot be read or are damaged
     */
    @Nullable
    Located refreshAndGet(long mapId) throws IOException {
        try {
            refreshing.lockInterruptibly();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while another thread reads a peer's directory");
        }
        try {
            return refreshAndGetAlone(mapId);
        } finally {
            refreshing.unlock();
        }
    }

    private @Nullable Located refreshAndGetAlone(long mapId) throws IOException {
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
                if (Thread.currentThread().isInterrupted()) {
                    throw new InterruptedIOException("interrupted while a peer writes its directory");
                }
                pauseNanos = Math.min(2 * pauseNanos, MAX_PAUSE_NANOS);
            } while (System.nanoTime() - deadline < 0);
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            DirectoryFormatException damaged = new DirectoryFormatException(
                    "directory of shuffle " + shuffleId + " is damaged: " + e.getMessage());
            damaged.initCause(e);
            throw damaged;
        }
        gaveUp = true;
        throw new DirectoryFormatException(
                "directory of shuffle " + shuffleId + " has had a wrong checksum for " + Quantities.duration(timeout));
    }

    /** Reads slot and entries; false when a record was caught half written. */
    private boolean readNewEntries() throws IOException {
        RemoteTables.Search search = tables.find(shuffleId);
        slotSeen = search.slot() != null || !search.torn();
        if (search.slot() == null) {
            if (slotSeen) {
                startOver(0, 0, search.place());
            }
            return slotSeen;
        }
        Unread unread = take(search, search.slot(), System.nanoTime());
        if (unread == null) {
            return true;
        }
        VarHandle.acquireFence();
        try (RemoteBytes bytes = reads.read(peer, List.of(unread.place()))) {
            return add(bytes.memory(0), unread.count());
        }
    }

    /** Processes a slot; returns the entries that it has and that are not known, null if there are none. */
    private @Nullable Unread take(RemoteTables.Search search, ByteBuffer slot, long asked) {
        long generation = slot.getLong(DirectoryLayout.SLOT_GENERATION);
        long revision = slot.getLong(DirectoryLayout.SLOT_REVISION);
        startOver(generation, revision, search.place());
        int count = slot.getInt(DirectoryLayout.SLOT_ENTRIES) - read;
        if (count <= 0) {
            return null;
        }
        RemoteSlice place = new RemoteSlice(
                slot.getInt(DirectoryLayout.SLOT_REGION),
                slot.getLong(DirectoryLayout.SLOT_OFFSET) + read * DirectoryLayout.RECORD_BYTES,
                count * DirectoryLayout.RECORD_BYTES);
        return new Unread(generation, revision, place, read, count, asked);
    }

    /**
     * Entries of an earlier generation were removed by their owner: Spark may remove a shuffle and write it again.
     * Entries of an earlier revision may have moved.
     */
    private void startOver(long generation, long revision, RemoteSlice place) {
        if (!known.isOf(generation, revision)) {
            known = new Known(EntryTable.empty(), generation, revision, place);
            read = 0;
        }
    }

    /** Adds entries up to the first that was caught half written; false if there is such a one. */
    private boolean add(MemorySlice records, int count) throws IOException {
        List<DirectoryEntry> added = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
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

    /**
     * Starts reads of slot and new entries, unless in flight, so that {@link #refreshAndGet} need not. Damaged and
     * half-written records, and unknown tables, are left to that method.
     *
     * @param executor processes arrived records; must run every task, because tasks release memory
     * @return completes when it is done; fails with a {@link io.rdmashuffle.fabric.ReadFailedException} if the peer
     *     cannot be read
     */
    CompletableFuture<Void> prefetch(Executor executor) {
        CompletableFuture<Void> own = new CompletableFuture<>();
        CompletableFuture<Void> other = prefetch.compareAndExchange(null, own);
        if (other != null) {
            return other;
        }
        long asked = System.nanoTime();
        List<RemoteSlice> places = tables.places(shuffleId);
        CompletableFuture<Void> unused = reads.start(peer, places)
                .thenApplyAsync(bytes -> unread(places, bytes, asked), executor)
                .thenCompose(unread -> unread == null
                        ? CompletableFuture.<Void>completedFuture(null)
                        : reads.start(peer, List.of(unread.place()))
                                .thenAcceptAsync(bytes -> add(unread, bytes), executor))
                .whenComplete((done, failure) -> {
                    prefetch.set(null);
                    complete(own, failure);
                });
        return own;
    }

    static void complete(CompletableFuture<Void> future, @Nullable Throwable failure) {
        if (failure == null) {
            future.complete(null);
        } else {
            Throwable cause = failure.getCause();
            future.completeExceptionally(failure instanceof CompletionException && cause != null ? cause : failure);
        }
    }

    private @Nullable Unread unread(List<RemoteSlice> places, RemoteBytes bytes, long asked) {
        try (bytes) {
            RemoteTables.Search search = RemoteTables.search(shuffleId, places, bytes);
            ByteBuffer slot = search.slot();
            if (slot == null) {
                return null;
            }
            if (!refreshing.tryLock()) {
                return null;
            }
            try {
                Unread unread = take(search, slot, asked);
                if (unread == null) {
                    trustFrom(asked);
                }
                return unread;
            } finally {
                refreshing.unlock();
            }
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException damaged) {
            // Whoever needs an entry reads it again, and says so.
            return null;
        }
    }

    private void add(Unread unread, RemoteBytes bytes) {
        try (bytes) {
            if (!refreshing.tryLock()) {
                return;
            }
            try {
                boolean isNext = known.isOf(unread.generation(), unread.revision()) && read == unread.first();
                if (isNext && add(bytes.memory(0), unread.count())) {
                    trustFrom(unread.asked());
                }
            } finally {
                refreshing.unlock();
            }
        } catch (IOException | IllegalArgumentException | IndexOutOfBoundsException damaged) {
            // As above.
            return;
        }
    }

    private void trustFrom(long asked) {
        long until = asked + trust.toNanos();
        if (until - trustedUntil > 0) {
            trustedUntil = until;
        }
    }
}
