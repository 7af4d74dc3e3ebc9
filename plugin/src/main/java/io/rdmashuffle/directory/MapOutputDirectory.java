// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.lifecycle.CloseOnFailure;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.WaitPolicy;
import io.rdmashuffle.memory.slice.MemorySlice;
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
 * it. The entry of an output that has moved is written again in its place: a reader who sees half of it, by its
 * checksum, reads it again.
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
    private final UUID incarnation;
    /** In the order in which shuffles look for a free slot. */
    private final List<SlotTable> tables = new ArrayList<>();

    private final Map<Integer, Segment> segments = new HashMap<>();
    /** The one given last. Of the whole directory, so that no reader takes a slot for another one. */
    private long generation;

    private boolean closed;

    private MapOutputDirectory(Pool pool, UUID incarnation) {
        this.pool = pool;
        this.incarnation = incarnation;
    }

    /** Returns the size of the first table, which is in one region. */
    public static long firstTableBytes(int slots) {
        return DirectoryLayout.tableBytes(slots);
    }

    /**
     * Leases memory for the table and writes an empty directory.
     *
     * @param slots slots of the first table: number of live shuffles without a further table
     * @param incarnation distinguishes this executor from an earlier one with the same id
     * @throws IllegalArgumentException if the pool is too small for the table
     */
    public static MapOutputDirectory create(Pool pool, int slots, UUID incarnation) throws InterruptedException {
        long bytes = firstTableBytes(slots);
        Lease table = pool.reserve(Purpose.DIRECTORY, bytes, bytes, WaitPolicy.GROWTH);
        if (table == null) {
            throw new IllegalArgumentException("the pool has no room for a directory of " + bytes
                    + " bytes; raise spark.shuffle.rdma.pool.maxSize or lower"
                    + " spark.shuffle.rdma.directory.maxShuffles");
        }
        MapOutputDirectory directory = new MapOutputDirectory(pool, incarnation);
        directory.tables.add(SlotTable.write(table, slots, incarnation));
        return directory;
    }

    /** Returns a directory in which nothing is published, for a process whose pool holds not even a table. */
    public static MapOutputDirectory absent(Pool pool) {
        return new MapOutputDirectory(pool, new UUID(0, 0));
    }

    /** Returns whether there is no table, now and later. */
    public synchronized boolean isAbsent() {
        return tables.isEmpty();
    }

    /**
     * Returns the location of the first table, which links to the others.
     *
     * @throws IndexOutOfBoundsException if the directory is absent
     */
    public synchronized DirectoryLocation location() {
        return tables.get(0).location();
    }

    /** Returns the bytes that the tables take of the pool, whether shuffles live or not. */
    public synchronized long tableBytes() {
        return tables.stream().mapToLong(SlotTable::lengthBytes).sum();
    }

    /** Returns the number of tables; each is one lease. */
    public synchronized int tables() {
        return tables.size();
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
        private @Nullable Lease table;

        private @Nullable Lease takeSegment(long bytes) {
            Lease taken = segment;
            if (taken == null || taken.lengthBytes() < bytes) {
                return null;
            }
            segment = null;
            return taken;
        }

        private @Nullable Lease takeTable(long bytes) {
            Lease taken = table;
            if (taken == null || taken.lengthBytes() < bytes) {
                return null;
            }
            table = null;
            return taken;
        }

        @Override
        public void close() {
            if (segment != null) {
                segment.close();
                segment = null;
            }
            if (table != null) {
                table.close();
                table = null;
            }
        }
    }

    /** Finds room for an entry, where its shuffle has none, without holding a lock; the caller closes it. */
    public Room prepare(int shuffleId, WaitPolicy waitPolicy) throws InterruptedException {
        long segmentBytes = 0;
        long tableBytes = 0;
        synchronized (this) {
            Segment segment = segments.get(shuffleId);
            if (segment != null) {
                segmentBytes = segment.missingBytes();
            } else if (!closed && !tables.isEmpty()) {
                segmentBytes = FIRST_SEGMENT_BYTES;
                tableBytes = tableFor(shuffleId) == null ? nextTableBytes() : 0;
            }
        }
        Room room = new Room();
        try {
            room.segment = segmentBytes == 0 ? null : reserve(segmentBytes, waitPolicy);
            room.table = tableBytes == 0 ? null : reserve(tableBytes, waitPolicy);
            return room;
        } catch (Throwable failure) {
            CloseOnFailure.close(failure, room);
            throw failure;
        }
    }

    private @Nullable Lease reserve(long bytes, WaitPolicy waitPolicy) throws InterruptedException {
        return pool.reserve(Purpose.DIRECTORY, bytes, bytes, waitPolicy);
    }

    /** Makes a map output findable, as {@link #publish(int, DirectoryEntry, Room)} does; waits while the pool grows. */
    public boolean publish(int shuffleId, DirectoryEntry entry) throws InterruptedException {
        try (Room room = prepare(shuffleId, WaitPolicy.GROWTH)) {
            return publish(shuffleId, entry, room);
        }
    }

    /**
     * Makes a map output findable. Its data and index must be complete. Never waits.
     *
     * @param room used if the shuffle's segment is full
     * @return false when there is no room in the pool, or there are as many tables as may be. The output is then found
     *     only through its owner.
     */
    public synchronized boolean publish(int shuffleId, DirectoryEntry entry, Room room) throws InterruptedException {
        if (closed || tables.isEmpty()) {
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

    /**
     * Leads readers to where a map output lies now. Those who know where it lay go on reading there, until
     * {@link #expire}; they look here again before {@link RemoteDirectory#TRUST} has passed.
     */
    public synchronized void relocate(int shuffleId, DirectoryEntry entry) {
        Segment segment = segments.get(shuffleId);
        // An entry for which there was no room is not there: its output is found through its owner.
        if (!closed && segment != null && segment.replace(entry)) {
            segment.revision++;
            writeSlot(segment);
        }
    }

    /**
     * Makes what readers know of a shuffle invalid: when this returns, memory that its outputs have left may be freed.
     */
    public synchronized void expire(int shuffleId) {
        Segment segment = segments.get(shuffleId);
        if (!closed && segment != null) {
            segment.generation = nextGeneration();
            writeSlot(segment);
            // Readers see that before any byte can be reused.
            VarHandle.fullFence();
        }
    }

    /** Takes every entry of a shuffle back and frees its segments. */
    public synchronized void withdraw(int shuffleId) {
        Segment segment = segments.remove(shuffleId);
        if (segment == null) {
            return;
        }
        MemorySlice slot = segment.slot();
        // The one word that readers in place compare: from here to the next shuffle's first entry it belongs to no
        // shuffle.
        slot.putLong(DirectoryLayout.SLOT_GENERATION, nextGeneration());
        slot.putInt(DirectoryLayout.SLOT_LIVE, 0);
        DirectoryLayout.seal(slot);
        // Readers see that before any byte of the shuffle can be reused.
        VarHandle.fullFence();
        segment.table.giveBack(shuffleId);
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
        tables.forEach(SlotTable::close);
    }

    private long nextGeneration() {
        generation++;
        return generation;
    }

    /** Returns the first table in which a shuffle's slot is free. */
    private @Nullable SlotTable tableFor(int shuffleId) {
        for (SlotTable table : tables) {
            if (!table.isTaken(shuffleId)) {
                return table;
            }
        }
        return null;
    }

    private int nextTableSlots() {
        return 2 * tables.get(tables.size() - 1).slots();
    }

    /** Returns the length of a further table; 0 if there are as many as may be. */
    private long nextTableBytes() {
        return tables.size() == DirectoryLayout.MAX_TABLES ? 0 : DirectoryLayout.tableBytes(nextTableSlots());
    }

    private @Nullable SlotTable addTable(Room room) throws InterruptedException {
        long bytes = nextTableBytes();
        if (bytes == 0) {
            return null;
        }
        Lease prepared = room.takeTable(bytes);
        Lease lease = prepared != null ? prepared : reserve(bytes, WaitPolicy.NONE);
        if (lease == null) {
            return null;
        }
        SlotTable added = SlotTable.write(lease, nextTableSlots(), incarnation);
        tables.get(tables.size() - 1).linkTo(added);
        tables.add(added);
        return added;
    }

    private @Nullable Segment openSegment(int shuffleId, Room room) throws InterruptedException {
        SlotTable free = tableFor(shuffleId);
        SlotTable table = free != null ? free : addTable(room);
        Lease lease = table == null ? null : reserveSegment(FIRST_SEGMENT_BYTES, room);
        if (table == null || lease == null) {
            return null;
        }
        table.take(shuffleId);
        Segment segment = new Segment(shuffleId, table, lease);
        segments.put(shuffleId, segment);
        return segment;
    }

    private @Nullable Lease reserveSegment(long bytes, Room room) throws InterruptedException {
        Lease prepared = room.takeSegment(bytes);
        // Others may have filled the segment since room was prepared; under the lock nothing is waited for.
        return prepared != null ? prepared : reserve(bytes, WaitPolicy.NONE);
    }

    private void writeSlot(Segment segment) {
        VarHandle.releaseFence();
        MemorySlice slot = segment.slot();
        slot.putInt(DirectoryLayout.SLOT_SHUFFLE, segment.shuffleId);
        slot.putInt(DirectoryLayout.SLOT_LIVE, 1);
        slot.putInt(DirectoryLayout.SLOT_REGION, segment.current.region().id());
        slot.putInt(DirectoryLayout.SLOT_ENTRIES, segment.entries);
        slot.putLong(DirectoryLayout.SLOT_OFFSET, segment.current.offset());
        slot.putLong(DirectoryLayout.SLOT_GENERATION, segment.generation);
        slot.putLong(DirectoryLayout.SLOT_REVISION, segment.revision);
        DirectoryLayout.seal(slot);
    }

    /** The entries of one shuffle; guarded by the directory's lock. */
    private final class Segment {
        private final int shuffleId;
        private final SlotTable table;
        private final List<Lease> outgrown = new ArrayList<>();
        /** Numbers of the entries by map id; of several the last one counts. */
        private final Map<Long, Integer> numbers = new HashMap<>();

        private Lease current;
        private int entries;
        private long generation;
        private long revision;

        Segment(int shuffleId, SlotTable table, Lease first) {
            this.shuffleId = shuffleId;
            this.table = table;
            this.generation = nextGeneration();
            this.current = first;
        }

        MemorySlice slot() {
            return table.slot(shuffleId);
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
            entry.write(record(entries));
            numbers.put(entry.mapId(), entries);
            entries++;
            return true;
        }

        /** Writes the entry of a map output again; false if it has none. */
        boolean replace(DirectoryEntry entry) {
            Integer number = numbers.get(entry.mapId());
            if (number == null) {
                return false;
            }
            entry.write(record(number));
            return true;
        }

        private MemorySlice record(int number) {
            return current.memory().slice(number * DirectoryLayout.RECORD_BYTES, DirectoryLayout.RECORD_BYTES);
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
