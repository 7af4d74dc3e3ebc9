// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.shuffle.read;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
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
    private final ToLongFunction<T> mapIdOf;
    private final List<T> found = new ArrayList<>();
    private int next;

    /** Knows nothing yet; {@code mapIdOf} says of which map output a place is. */
    FoundAhead(ToLongFunction<T> mapIdOf) {
        this.mapIdOf = mapIdOf;
    }

    /** Remembers a map output after those that were added before. */
    void add(T place) {
        found.add(place);
    }

    /** Returns what was found of a map output, if that is the one that was asked for last or the one after it. */
    @Nullable
    T get(long mapId) {
        if (next > 0 && isOf(mapId, next - 1)) {
            return found.get(next - 1);
        }
        return next < found.size() && isOf(mapId, next) ? found.get(next++) : null;
    }

    private boolean isOf(long mapId, int index) {
        return mapIdOf.applyAsLong(found.get(index)) == mapId;
    }

    /** Forgets all, since it is out of date. */
    void clear() {
        found.clear();
        next = 0;
    }
}
