// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.MemorySlice;
import io.rdmashuffle.memory.Pool;
import io.rdmashuffle.memory.Purpose;
import java.lang.invoke.VarHandle;
import java.time.Duration;
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
 * <p><b>Threading:</b> thread-safe; one lock, held for a few stores.
 *
 * <p><b>Ownership:</b> owns the table and the segments; {@link #close()} returns them to the pool.
 *
 * <p>Layout: {@link DirectoryLayout}.
 */
public final class MapOutputDirectory implements AutoCloseable {
    private static final int FIRST_SEGMENT_ENTRIES = 64;

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
        Lease table = pool.reserve(Purpose.DIRECTORY, bytes, bytes, Duration.ZERO);
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
     * Makes a map output findable. Its data and index must be complete.
     *
     * @return false when there is no room: the slot belongs to another shuffle, or the pool is full. The output is then
     *     found only through its owner.
     */
    public synchronized boolean publish(int shuffleId, DirectoryEntry entry) throws InterruptedException {
        if (closed) {
            return false;
        }
        Segment segment = segments.get(shuffleId);
        if (segment == null) {
            segment = openSegment(shuffleId);
        }
        if (segment == null || !segment.append(entry)) {
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

    private @Nullable Segment openSegment(int shuffleId) throws InterruptedException {
        boolean taken = segments.keySet().stream().anyMatch(other -> Math.floorMod(other - shuffleId, slots) == 0);
        if (taken) {
            return null;
        }
        Lease lease = reserveSegment(FIRST_SEGMENT_ENTRIES);
        if (lease == null) {
            return null;
        }
        Segment segment = new Segment(shuffleId, lease);
        segments.put(shuffleId, segment);
        return segment;
    }

    private @Nullable Lease reserveSegment(long entries) throws InterruptedException {
        long bytes = entries * DirectoryLayout.RECORD_BYTES;
        return pool.reserve(Purpose.DIRECTORY, bytes, bytes, Duration.ZERO);
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

        boolean append(DirectoryEntry entry) throws InterruptedException {
            long end = (entries + 1L) * DirectoryLayout.RECORD_BYTES;
            if (end > current.lengthBytes() && !grow()) {
                return false;
            }
            entry.write(current.memory().slice(entries * DirectoryLayout.RECORD_BYTES, DirectoryLayout.RECORD_BYTES));
            entries++;
            return true;
        }

        private boolean grow() throws InterruptedException {
            Lease larger = reserveSegment(2L * entries);
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
