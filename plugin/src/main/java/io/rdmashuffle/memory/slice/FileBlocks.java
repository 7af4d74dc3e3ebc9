// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.memory.slice;

import io.rdmashuffle.ffi.Errno;

/**
 * Reserves the blocks of a file. A signal that comes meanwhile, such as a profiler sends all the time, has a tmpfs undo
 * all of the call, so that a long one might never succeed: it is divided then.
 *
 * <p><b>Threading:</b> any.
 *
 * <p><b>Source:</b> fallocate(2), EINTR.
 */
public final class FileBlocks {
    static final long MIN_PIECE_BYTES = 1 << 20;
    /** Of one piece, in sequence: then something other than a profiler sends the signals. */
    static final int MAX_INTERRUPTS = 100;

    private FileBlocks() {}

    /** Calls fallocate(2) on some file. */
    @FunctionalInterface
    public interface Call {
        /** Returns 0, or the error number. */
        int reserve(long offset, long lengthBytes);
    }

    /** Reserves a range; returns 0, or the number of the error that ended it. */
    public static int reserve(Call call, long offset, long lengthBytes) {
        long piece = lengthBytes;
        int interrupts = 0;
        long done = 0;
        do {
            long count = Math.min(piece, lengthBytes - done);
            int errno = call.reserve(offset + done, count);
            if (errno == 0) {
                done += count;
                interrupts = 0;
            } else if (Errno.EINTR.is(errno) && interrupts < MAX_INTERRUPTS) {
                interrupts++;
                // Not only a part of a page, which may be a huge one.
                piece = Math.max(MIN_PIECE_BYTES, piece / 2 & -MIN_PIECE_BYTES);
            } else {
                return errno;
            }
        } while (done < lengthBytes);
        return 0;
    }
}
