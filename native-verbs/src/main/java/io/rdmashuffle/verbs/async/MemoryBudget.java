// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory used by all peers of a {@link MemoryServer}, and its limit, counted in pages of {@value #PAGE_BYTES} bytes.
 *
 * <p><b>Threading:</b> changed by one thread, read by any.
 */
final class MemoryBudget {
    static final int PAGE_BYTES = 4096;

    private final long maxBytes;
    private final AtomicLong usedBytes = new AtomicLong();

    MemoryBudget(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    long usedBytes() {
        return usedBytes.get();
    }

    /** Returns the bytes that were counted for a request, 0 if that would be more than the bound. */
    long reserve(long lengthBytes) {
        if (lengthBytes < 1) {
            return 0;
        }
        // Counted in pages, so that nothing overflows whatever the peer asks for.
        long pages = (lengthBytes - 1) / PAGE_BYTES + 1;
        if (pages > (maxBytes - usedBytes.get()) / PAGE_BYTES) {
            return 0;
        }
        usedBytes.addAndGet(pages * PAGE_BYTES);
        return pages * PAGE_BYTES;
    }

    /** Releases counted bytes. */
    void giveBack(long countedBytes) {
        usedBytes.addAndGet(-countedBytes);
    }

    /** Returns the reason why there is no room, for a peer. */
    String describeRoom() {
        return usedBytes + " of " + maxBytes + " bytes are in use";
    }
}
