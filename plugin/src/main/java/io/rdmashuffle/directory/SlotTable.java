// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.slice.MemorySlice;
import java.lang.invoke.VarHandle;
import java.util.BitSet;
import java.util.UUID;

/**
 * One table of an owner's directory: a header, and slots in which shuffles are found by their id.
 *
 * <p><b>Threading:</b> none; the {@link MapOutputDirectory}'s lock guards it. Peers read it at any time.
 *
 * <p><b>Ownership:</b> owns its lease, which is kept until the directory is closed: a peer may read a slot at any time.
 *
 * <p>Layout: {@link DirectoryLayout}.
 */
final class SlotTable implements AutoCloseable {
    private final Lease lease;
    private final int slots;
    private final BitSet taken;

    private SlotTable(Lease lease, int slots) {
        this.lease = lease;
        this.slots = slots;
        this.taken = new BitSet(slots);
    }

    /** Writes an empty table into a lease that holds {@link DirectoryLayout#tableBytes}. */
    static SlotTable write(Lease lease, int slots, UUID incarnation) {
        MemorySlice memory = lease.memory().slice(0, DirectoryLayout.tableBytes(slots));
        memory.clear();
        MemorySlice header = memory.slice(0, DirectoryLayout.RECORD_BYTES);
        header.putLong(0, DirectoryLayout.MAGIC);
        header.putInt(DirectoryLayout.HEADER_VERSION, DirectoryLayout.VERSION);
        header.putInt(DirectoryLayout.HEADER_SLOTS, slots);
        header.putBytes(DirectoryLayout.HEADER_INCARNATION, DirectoryLocation.incarnationBytes(incarnation), 0, 16);
        DirectoryLayout.seal(header);
        return new SlotTable(lease, slots);
    }

    /** Returns the location of the table for peers. */
    DirectoryLocation location() {
        RemoteSlice slice = new RemoteSlice(lease.region().id(), lease.offset(), DirectoryLayout.tableBytes(slots));
        return new DirectoryLocation(slice, slots);
    }

    long lengthBytes() {
        return lease.lengthBytes();
    }

    int slots() {
        return slots;
    }

    /** Returns whether another shuffle has the slot in which this one would be found. */
    boolean isTaken(int shuffleId) {
        return taken.get(Math.floorMod(shuffleId, slots));
    }

    void take(int shuffleId) {
        taken.set(Math.floorMod(shuffleId, slots));
    }

    void giveBack(int shuffleId) {
        taken.clear(Math.floorMod(shuffleId, slots));
    }

    MemorySlice slot(int shuffleId) {
        return lease.memory().slice(DirectoryLayout.slotOffset(shuffleId, slots), DirectoryLayout.RECORD_BYTES);
    }

    /** Leads readers who do not find a shuffle here to another table, which is complete. */
    void linkTo(SlotTable next) {
        VarHandle.releaseFence();
        MemorySlice header = lease.memory().slice(0, DirectoryLayout.RECORD_BYTES);
        header.putInt(
                DirectoryLayout.HEADER_NEXT_REGION, next.location().table().regionId());
        header.putLong(
                DirectoryLayout.HEADER_NEXT_OFFSET, next.location().table().offset());
        header.putInt(DirectoryLayout.HEADER_NEXT_SLOTS, next.slots);
        DirectoryLayout.seal(header);
    }

    @Override
    public void close() {
        lease.close();
    }
}
