package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteBytes;
import io.rdmashuffle.memory.MemorySlice;
import java.lang.invoke.VarHandle;

/**
 * Tells whether bytes read from a peer's memory were still the shuffle's when they were read.
 *
 * <p>The reader's half of a sequence lock: copy the bytes, then ask {@link #isCurrent()}. A peer that has died leaves its
 * slot, and its memory, as they were.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> keeps the peer's memory mapped until {@link #close()}.
 */
public final class SlotWatch implements AutoCloseable {
    private final RemoteBytes slot;
    private final int shuffleId;
    private final long generation;

    SlotWatch(RemoteBytes slot, int shuffleId, long generation) {
        this.slot = slot;
        this.shuffleId = shuffleId;
        this.generation = generation;
    }

    /** Returns whether the owner had not withdrawn the shuffle when everything read until now was read. */
    public boolean isCurrent() {
        VarHandle.loadLoadFence();
        MemorySlice record = slot.slice(0);
        return record.getInt(DirectoryLayout.SLOT_LIVE) == 1
                && record.getInt(DirectoryLayout.SLOT_SHUFFLE) == shuffleId
                && record.getLong(DirectoryLayout.SLOT_GENERATION) == generation;
    }

    @Override
    public void close() {
        slot.close();
    }
}
