// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.memory.Region;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.ReferenceCounted;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Direct buffers over the regions of this process's pool, reused for every system call of one thread, so that a read
 * makes no garbage.
 *
 * <p><b>Threading:</b> one thread.
 *
 * <p><b>Ownership:</b> keeps each region mapped from its first use until {@link #forget} or {@link #close}.
 */
final class RegionBuffers implements AutoCloseable {
    /** Below the longest ByteBuffer. */
    private static final long WINDOW_BYTES = 1L << 30;

    private final IdentityHashMap<Region, Windows> windows = new IdentityHashMap<>();
    private final List<Windows> used = new ArrayList<>();

    /** Buffers over one region, by window; all buffers of a window show the same bytes. */
    private static final class Windows {
        private final MemorySlice memory;
        private final ReferenceCounted shared;
        private final List<List<ByteBuffer>> buffers = new ArrayList<>();
        private final int[] taken;
        private boolean isUsed;

        Windows(Region region) {
            this.memory = region.memory();
            this.shared = region.shared();
            int count = Math.toIntExact((memory.lengthBytes() + WINDOW_BYTES - 1) / WINDOW_BYTES);
            for (int i = 0; i < count; i++) {
                buffers.add(new ArrayList<>());
            }
            this.taken = new int[count];
        }

        ByteBuffer take(int window) {
            List<ByteBuffer> all = buffers.get(window);
            int index = taken[window]++;
            if (index == all.size()) {
                long start = window * WINDOW_BYTES;
                all.add(memory.slice(start, Math.min(WINDOW_BYTES, memory.lengthBytes() - start))
                        .asByteBuffer());
            }
            return all.get(index);
        }
    }

    /**
     * Returns a buffer over a range of a region, valid until {@link #reset}; shorter than the range where that crosses
     * a window. Null if the region is not mapped any more.
     */
    @Nullable
    ByteBuffer take(Region region, long offset, long lengthBytes) {
        Windows of = windows(region);
        if (of == null) {
            return null;
        }
        if (!of.isUsed) {
            of.isUsed = true;
            used.add(of);
        }
        int window = (int) (offset / WINDOW_BYTES);
        int start = (int) (offset % WINDOW_BYTES);
        ByteBuffer buffer = of.take(window);
        buffer.limit((int) Math.min(start + lengthBytes, buffer.capacity())).position(start);
        return buffer;
    }

    /** Returns the memory of a region, valid as the buffers are; null if it is not mapped any more. */
    @Nullable
    MemorySlice memory(Region region) {
        Windows of = windows(region);
        return of == null ? null : of.memory;
    }

    private @Nullable Windows windows(Region region) {
        Windows known = windows.get(region);
        if (known == null && region.shared().retain()) {
            known = new Windows(region);
            windows.put(region, known);
        }
        return known;
    }

    /** Releases all buffers. */
    void reset() {
        for (int i = 0; i < used.size(); i++) {
            Windows of = used.get(i);
            of.isUsed = false;
            Arrays.fill(of.taken, 0);
        }
        used.clear();
    }

    /** Drops the buffers over a region. */
    void forget(Region region) {
        reset();
        Windows of = windows.remove(region);
        if (of != null) {
            of.shared.release();
        }
    }

    @Override
    public void close() {
        reset();
        windows.values().forEach(of -> of.shared.release());
        windows.clear();
    }
}
