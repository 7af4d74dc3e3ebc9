// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.Patience;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The owner's side of the directory: publishes map outputs so that peers find them without a message.
 *
 * <p>An entry becomes visible as a whole: first its record, then the slot that counts it. A segment that is full is
 * copied into one of twice the size; the old one stays until the shuffle is withdrawn, because a peer may be reading
 * it.
 *
 * <p><b>Threading:</b> thread-safe; one lock, held for a few stores. Who publishes under a lock of its own has
 * {@link #prepare} wait for room before.
 *
 * <p><b>Ownership:</b> owns the table and the segments; {@link #close()} returns them to the pool.
 *
 * <p>Layout: {@link DirectoryLayout}.
 */
public final class MapOutputDirectory implements AutoCloseable {
    /** Room for 64 entries. */
    private static final long FIRST_SEGMENT_BYTES = 64 * DirectoryLayout.RECORD_BYTES;

    private final Pool pool;
    private final int slots;
    private final Lease table;
    private final Map<Integer, Segment> segments = new HashMap<>();
    private boolean closed;

    private MapOutputDirectory(Pool pool, int slots, Lease table) {
        this.pool = pool;
        this.slots = slots;
        this.table = table;
    }

    /**
     * Takes room for the table from the pool and writes an empty directory there.
     *
     * @param slots how many shuffles may have entries at once
     * @param incarnation tells this executor from one of the same id that was here before
     * @throws IllegalArgumentException if the pool is too small for the table
     */
    public static MapOutputDirectory create(Pool pool, int slots, UUID incarnation) throws InterruptedException {
        long bytes = DirectoryLayout.tableBytes(slots);
        Lease table = pool.reserve(Purpose.DIRECTORY, bytes, bytes, Patience.GROWTH);
        if (table == null) {
            throw new IllegalArgumentException("the pool has no room for a directory of " + bytes
                    + " bytes; raise spark.shuffle.rdma.pool.maxSize or lower"
                    + " spark.shuffle.rdma.directory.maxShuffles");
        }
        MemorySlice memory = table.memory().slice(0, bytes);
        memory.clear();
        MemorySlice header = memory.slice(0, DirectoryLayout.RECORD_BYTES);
        header.putLong(0, DirectoryLayout.MAGIC);
        header.putInt(DirectoryLayout.HEADER_VERSION, DirectoryLayout.VERSION);
        header.putInt(DirectoryLayout.HEADER_SLOTS, slots);
        header.putBytes(DirectoryLayout.HEADER_INCARNATION, DirectoryLocation.incarnationBytes(incarnation), 0, 16);
        DirectoryLayout.seal(header);
        return new MapOutputDirectory(pool, slots, table);
    }

    /** Returns where peers find the table. */
    public DirectoryLocation location() {
        RemoteSlice slice = new RemoteSlice(table.region().id(), table.offset(), DirectoryLayout.tableBytes(slots));
        return new DirectoryLocation(slice, slots);
    }

    /** Returns the bytes that the table itself takes of the pool, whether shuffles live or not. */
    public long tableBytes() {
        return table.lengthBytes();
    }

    /**
     * Room for one more entry of a shuffle, which {@link #publish(int, DirectoryEntry, Room)} uses if it needs it.
     *
     * <p><b>Threading:</b> one thread.
     *
     * <p><b>Ownership:</b> owns its lease until it is used.
     */
    public static final class Room implements AutoCloseable {
        private @Nullable Lease segment;

        private Room(@Nullable Lease segment) {
            this.segment = segment;
        }

        private @Nullable Lease take(long bytes) {
            Lease taken = segment;
            if (taken == null || taken.lengthBytes() < bytes) {
                return null;
            }
            segment = null;
            return taken;
        }

        @Override
        public void close() {
            if (segment != null) {
                segment.close();
                segment = null;
            }
        }
    }

    /** Finds room for an entry, where its shuffle has none, without holding a lock; the caller closes it. */
    public Room prepare(int shuffleId, Patience patience) throws InterruptedException {
        long bytes;
        synchronized (this) {
            Segment segment = segments.get(shuffleId);
            if (closed || (segment == null && isTaken(shuffleId))) {
                bytes = 0;
            } else {
                bytes = segment == null ? FIRST_SEGMENT_BYTES : segment.missingBytes();
            }
        }
        return new Room(bytes == 0 ? null : pool.reserve(Purpose.DIRECTORY, bytes, bytes, patience));
    }

    /** Makes a map output findable, as {@link #publish(int, DirectoryEntry, Room)} does; waits while the pool grows. */
    public boolean publish(int shuffleId, DirectoryEntry entry) throws InterruptedException {
        try (Room room = prepare(shuffleId, Patience.GROWTH)) {
            return publish(shuffleId, entry, room);
        }
    }

    /**
     * Makes a map output findable. Its data and index must be complete. Never waits.
     *
     * @param room used if the shuffle's segment is full
     * @return false when there is no room: the slot belongs to another shuffle, or the pool is full. The output is then
     *     found only through its owner.
     */
    public synchronized boolean publish(int shuffleId, DirectoryEntry entry, Room room) throws InterruptedException {
        if (closed) {
            return false;
        }
        Segment segment = segments.get(shuffleId);
        if (segment == null) {
            segment = openSegment(shuffleId, room);
        }
        if (segment == null || !segment.append(entry, room)) {
            return false;
        }
        writeSlot(segment);
        return true;
    }

    /** Takes every entry of a shuffle back and frees its segments. */
    public synchronized void withdraw(int shuffleId) {
        Segment segment = segments.remove(shuffleId);
        if (segment == null) {
            return;
        }
        MemorySlice slot = slot(shuffleId);
        // The one word that readers in place compare: from here to the next shuffle's first entry it belongs to no
        // shuffle.
        slot.putLong(DirectoryLayout.SLOT_GENERATION, segment.generation + 1);
        slot.putInt(DirectoryLayout.SLOT_LIVE, 0);
        DirectoryLayout.seal(slot);
        // Readers see that before any byte of the shuffle can be reused.
        VarHandle.fullFence();
        segment.close();
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        segments.values().forEach(Segment::close);
        segments.clear();
        table.close();
    }

    private boolean isTaken(int shuffleId) {
        return segments.keySet().stream().anyMatch(other -> Math.floorMod(other - shuffleId, slots) == 0);
    }

    private @Nullable Segment openSegment(int shuffleId, Room room) throws InterruptedException {
        if (isTaken(shuffleId)) {
            return null;
        }
        Lease lease = reserveSegment(FIRST_SEGMENT_BYTES, room);
        if (lease == null) {
            return null;
        }
        Segment segment = new Segment(shuffleId, lease);
        segments.put(shuffleId, segment);
        return segment;
    }

    private @Nullable Lease reserveSegment(long bytes, Room room) throws InterruptedException {
        Lease prepared = room.take(bytes);
        // Others may have filled the segment since room was prepared; under the lock nothing is waited for.
        return prepared != null ? prepared : pool.reserve(Purpose.DIRECTORY, bytes, bytes, Patience.NONE);
    }

    private MemorySlice slot(int shuffleId) {
        return table.memory().slice(DirectoryLayout.slotOffset(shuffleId, slots), DirectoryLayout.RECORD_BYTES);
    }

    private void writeSlot(Segment segment) {
        VarHandle.releaseFence();
        MemorySlice slot = slot(segment.shuffleId);
        slot.putInt(DirectoryLayout.SLOT_SHUFFLE, segment.shuffleId);
        slot.putInt(DirectoryLayout.SLOT_LIVE, 1);
        slot.putInt(DirectoryLayout.SLOT_REGION, segment.current.region().id());
        slot.putInt(DirectoryLayout.SLOT_ENTRIES, segment.entries);
        slot.putLong(DirectoryLayout.SLOT_OFFSET, segment.current.offset());
        slot.putLong(DirectoryLayout.SLOT_GENERATION, segment.generation);
        DirectoryLayout.seal(slot);
    }

    /** The entries of one shuffle; guarded by the directory's lock. */
    private final class Segment {
        private final int shuffleId;
        private final long generation;
        private final List<Lease> outgrown = new ArrayList<>();
        private Lease current;
        private int entries;

        Segment(int shuffleId, Lease first) {
            this.shuffleId = shuffleId;
            this.generation = slot(shuffleId).getLong(DirectoryLayout.SLOT_GENERATION) + 1;
            this.current = first;
        }

        /** Returns the length of the segment that the next entry needs; 0 if there is room for it. */
        long missingBytes() {
            boolean full = (entries + 1L) * DirectoryLayout.RECORD_BYTES > current.lengthBytes();
            return full ? 2L * entries * DirectoryLayout.RECORD_BYTES : 0;
        }

        boolean append(DirectoryEntry entry, Room room) throws InterruptedException {
            long missing = missingBytes();
            if (missing > 0 && !grow(missing, room)) {
                return false;
            }
            entry.write(current.memory().slice(entries * DirectoryLayout.RECORD_BYTES, DirectoryLayout.RECORD_BYTES));
            entries++;
            return true;
        }

        private boolean grow(long bytes, Room room) throws InterruptedException {
            Lease larger = reserveSegment(bytes, room);
            if (larger == null) {
                return false;
            }
            current.memory().slice(0, entries * DirectoryLayout.RECORD_BYTES).copyTo(larger.memory());
            outgrown.add(current);
            current = larger;
            return true;
        }

        void close() {
            outgrown.forEach(Lease::close);
            current.close();
        }
    }
}
