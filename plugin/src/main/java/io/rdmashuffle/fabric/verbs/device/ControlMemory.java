// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;

/**
 * Registered memory for control messages, in slots of {@value #SLOT_BYTES} bytes; registers another block when all
 * slots are in use, so registrations do not grow with connections.
 *
 * <p><b>Threading:</b> the control thread.
 *
 * <p><b>Ownership:</b> of its {@link Rail}; must be closed after the queue pairs that use its slots.
 */
public final class ControlMemory implements AutoCloseable {
    /** A staging question, and an answer to it and one to a region query. */
    public static final int SLOT_BYTES = 2048;

    private static final int SLOTS_PER_BLOCK = 256;

    private final ProtectionDomain domain;
    private final List<NativeBuffer> blocks = new ArrayList<>();
    private final List<MemoryRegion> regions = new ArrayList<>();
    private final Deque<Slot> free = new ArrayDeque<>();

    /** Registers nothing yet. */
    public ControlMemory(ProtectionDomain domain) {
        this.domain = domain;
    }

    /** A piece of registered memory. */
    public record Slot(long address, int localKey) {}

    /** Returns a free slot. */
    public Slot take() {
        if (free.isEmpty()) {
            addBlock();
        }
        return free.pop();
    }

    /** Releases a slot, once no queue pair can use it. */
    public void release(Slot slot) {
        free.push(slot);
    }

    private void addBlock() {
        NativeBuffer block = NativeBuffer.ofPages((long) SLOTS_PER_BLOCK * SLOT_BYTES);
        MemoryRegion region;
        try {
            region = domain.registerMemory(block.address(), block.lengthBytes(), Set.of(Access.LOCAL_WRITE));
        } catch (RuntimeException e) {
            block.close();
            throw e;
        }
        blocks.add(block);
        regions.add(region);
        for (int i = 0; i < SLOTS_PER_BLOCK; i++) {
            free.push(new Slot(block.address() + (long) i * SLOT_BYTES, region.localKey()));
        }
    }

    @Override
    public void close() {
        regions.forEach(MemoryRegion::close);
        blocks.forEach(NativeBuffer::close);
    }
}
