// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a reduce task has found of map outputs before it reads them, in the order in which it will: so that none is
 * looked up again. Look-ups in this executor's own outputs take a lock that all of its tasks share.
 *
 * <p><b>Threading:</b> none.
 *
 * @param <T> where a map output lies
 */
final class FoundAhead<T> {
    private static final int FIRST_CAPACITY = 16;

    private long[] mapIds = new long[FIRST_CAPACITY];
    private final List<T> found = new ArrayList<>(FIRST_CAPACITY);
    private int next;

    /** Remembers a map output after those that were added before. */
    void add(long mapId, T place) {
        int count = found.size();
        if (count == mapIds.length) {
            mapIds = Arrays.copyOf(mapIds, 2 * count);
        }
        mapIds[count] = mapId;
        found.add(place);
    }

    /** Returns what was found of a map output, if that is the one that was asked for last or the one after it. */
    @Nullable
    T get(long mapId) {
        if (next > 0 && mapIds[next - 1] == mapId) {
            return found.get(next - 1);
        }
        return next < found.size() && mapIds[next] == mapId ? found.get(next++) : null;
    }

    /** Forgets all, since it is out of date. */
    void clear() {
        found.clear();
        next = 0;
    }
}
