// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.directory;

import io.rdmashuffle.memory.slice.StoredSlice;
import java.util.ArrayList;
import java.util.List;

/**
 * Walks through slices as if they were one sequence of bytes, and cuts off as much as is asked for.
 *
 * <p><b>Threading:</b> none; for one thread.
 */
public final class SliceCursor {
    private final List<StoredSlice> slices;
    private int index;
    private long position;

    /** Starts before the first byte. */
    public SliceCursor(List<StoredSlice> slices) {
        this.slices = slices;
    }

    /**
     * Returns the next {@code length} bytes, in as many pieces as they lie in.
     *
     * @throws IndexOutOfBoundsException if there are not that many left
     */
    public List<StoredSlice> take(long length) {
        List<StoredSlice> taken = new ArrayList<>(1);
        long missing = length;
        while (missing > 0) {
            StoredSlice current = slices.get(index);
            long piece = Math.min(missing, current.lengthBytes() - position);
            taken.add(current.slice(position, piece));
            missing -= piece;
            position += piece;
            if (position == current.lengthBytes()) {
                index++;
                position = 0;
            }
        }
        return taken;
    }
}
