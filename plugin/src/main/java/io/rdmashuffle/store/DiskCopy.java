// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.store;

import io.rdmashuffle.directory.BlockRange;
import io.rdmashuffle.directory.MapOutput;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.Purpose;
import io.rdmashuffle.memory.disk.OutputBuffer;
import io.rdmashuffle.memory.disk.TieredPool;
import io.rdmashuffle.memory.slice.MemorySlice;
import io.rdmashuffle.memory.slice.StoredSlice;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Copy of a map output to the disk tier, contiguous, with its writer's checksums: bytes that are damaged here are
 * damaged there, and readers notice.
 *
 * <p><b>Threading:</b> stateless; an interrupt ends a copy.
 */
final class DiskCopy {
    /** Of one system call: what a disk writes in some tens of milliseconds. */
    private static final long MAX_PIECE_BYTES = 8 << 20;

    private DiskCopy() {}

    /**
     * Copies an output of which the caller holds a reference.
     *
     * @return null if the disk is full or fails, or the thread was interrupted; nothing remains on disk then
     * @throws IOException if the output's index is damaged, or its bytes on disk cannot be read
     */
    static @Nullable MapOutput of(MapOutput output, TieredPool pool) throws IOException {
        BlockRange all = output.range(0, output.entry().partitions());
        Lease data = pool.reserveOnDisk(Purpose.MAP_OUTPUT, all.lengthBytes());
        if (data == null) {
            return null;
        }
        MapOutput copy = null;
        try {
            if (write(output.bytes(all), pool, data)) {
                copy = MapOutput.createOnDisk(
                        pool, output.entry().mapId(), data, all.lengthBytes(), all.lengths(), all.checksums());
            }
        } finally {
            if (copy == null) {
                data.close();
            }
        }
        return copy;
    }

    private static boolean write(List<StoredSlice> slices, TieredPool pool, Lease target) throws IOException {
        long position = 0;
        try (OutputBuffer buffer = pool.lendBuffer()) {
            for (StoredSlice slice : slices) {
                boolean inMemory = slice instanceof MemorySlice;
                long longest = inMemory ? MAX_PIECE_BYTES : buffer.memory().lengthBytes();
                for (long done = 0; done < slice.lengthBytes(); ) {
                    StoredSlice piece = slice.slice(done, Math.min(longest, slice.lengthBytes() - done));
                    if (Thread.currentThread().isInterrupted()
                            || !pool.write(target, position, inMemory(piece, buffer))) {
                        return false;
                    }
                    position += piece.lengthBytes();
                    done += piece.lengthBytes();
                }
            }
        }
        return true;
    }

    private static MemorySlice inMemory(StoredSlice piece, OutputBuffer buffer) throws IOException {
        if (piece instanceof MemorySlice memory) {
            return memory;
        }
        piece.copyToAddress(buffer.memory().address());
        return buffer.memory().slice(0, piece.lengthBytes());
    }
}
