// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.fabric.RemoteBytes;
import java.lang.invoke.VarHandle;

/**
 * Check whether bytes read from a peer's memory still belonged to the shuffle.
 *
 * <p>The reader's half of a sequence lock: copy the bytes, then call {@link #isCurrent()}. The owner changes the slot's
 * generation before it frees a byte, and no generation comes twice. A peer that has died leaves its slot, and its
 * memory, as they were.
 *
 * <p><b>Threading:</b> thread-safe.
 *
 * <p><b>Ownership:</b> keeps the peer's memory mapped until {@link #close()}.
 */
public final class SlotWatch implements AutoCloseable {
    private final RemoteBytes slot;
    private final long generation;

    SlotWatch(RemoteBytes slot, long generation) {
        this.slot = slot;
        this.generation = generation;
    }

    /** Returns whether the owner had not withdrawn the shuffle when everything read until now was read. */
    public boolean isCurrent() {
        VarHandle.loadLoadFence();
        // One aligned word: several would not be of one moment.
        return slot.memory(0).getLong(DirectoryLayout.SLOT_GENERATION) == generation;
    }

    @Override
    public void close() {
        slot.close();
    }
}
