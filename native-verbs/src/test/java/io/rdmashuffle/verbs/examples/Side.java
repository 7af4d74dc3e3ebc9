// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CompletionQueue;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.ProtectionDomain;
import io.rdmashuffle.verbs.QueuePair;
import io.rdmashuffle.verbs.QueueSizes;
import io.rdmashuffle.verbs.Transport;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One end: a queue pair with one completion queue and one region of memory.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> owns all of it, and the context that it was made from.
 */
record Side(Context context, CompletionQueue completions, QueuePair pair, NativeBuffer memory, MemoryRegion region)
        implements AutoCloseable {

    /**
     * What an end is made of.
     *
     * @param memoryBytes length of the region
     * @param sends most requests outstanding
     * @param receives most receives posted
     * @param remoteRights what the peer may do with the region
     */
    record Needs(long memoryBytes, int sends, int receives, Set<Access> remoteRights) {}

    /**
     * Makes one, with the queue pair in RESET.
     *
     * @param context closed by this when it fails, and by {@link #close()}
     */
    static Side create(Context context, Needs needs) {
        NativeBuffer memory = null;
        boolean made = false;
        try {
            memory = NativeBuffer.ofPages(needs.memoryBytes);
            Set<Access> rights = EnumSet.of(Access.LOCAL_WRITE);
            rights.addAll(needs.remoteRights);
            if (context.transport() == Transport.IWARP) {
                rights.add(Access.REMOTE_WRITE); // the local memory of a READ needs it there
            }
            ProtectionDomain domain = context.allocateProtectionDomain();
            MemoryRegion region = domain.registerMemory(memory.address(), needs.memoryBytes, rights);
            CompletionQueue queue = context.createCompletionQueue(needs.sends + needs.receives, null);
            QueueSizes sizes = new QueueSizes(needs.sends, needs.receives, 1, 0);
            Side side = new Side(context, queue, domain.createQueuePair(sizes, queue, queue, null), memory, region);
            made = true;
            return side;
        } finally {
            if (!made) {
                close(context, memory);
            }
        }
    }

    /** Returns the address of a byte of the region. */
    long at(long offset) {
        return region.address() + offset;
    }

    int localKey() {
        return region.localKey();
    }

    @Override
    public void close() {
        close(context, memory);
    }

    /** The region goes with the context, before its memory. */
    private static void close(Context context, @Nullable NativeBuffer memory) {
        context.close();
        if (memory != null) {
            memory.close();
        }
    }
}
