// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Copy-on-write set of the connections of a progress thread. Connections change seldom, completions arrive all the
 * time, so iteration and lookup by number need no lock and create no garbage.
 *
 * <p><b>Threading:</b> thread-safe.
 */
final class Driven {
    private volatile Timed[] all = {};
    /** By number, at the first free place from its remainder on; at least half of the places are free. */
    private volatile @Nullable CompletionTarget[] places = new CompletionTarget[1];

    synchronized void add(Timed what) {
        Timed[] more = Arrays.copyOf(all, all.length + 1);
        more[all.length] = what;
        replace(more);
    }

    synchronized void remove(Timed what) {
        replace(Arrays.stream(all).filter(each -> each != what).toArray(Timed[]::new));
    }

    private void replace(Timed[] now) {
        List<CompletionTarget> targets = targets(now).toList();
        @Nullable CompletionTarget[] placed = new CompletionTarget[Integer.highestOneBit(2 * targets.size() + 1) * 2];
        for (CompletionTarget target : targets) {
            int place = target.number() & (placed.length - 1);
            while (placed[place] != null) {
                place = (place + 1) & (placed.length - 1);
            }
            placed[place] = target;
        }
        places = placed;
        all = now;
    }

    /** Returns all that was there at some moment; not to be changed. */
    Timed[] all() {
        return all;
    }

    boolean isEmpty() {
        return all.length == 0;
    }

    /** Returns the target of completions. */
    Stream<CompletionTarget> targets() {
        return targets(all);
    }

    private static Stream<CompletionTarget> targets(Timed[] of) {
        return Arrays.stream(of).filter(CompletionTarget.class::isInstance).map(CompletionTarget.class::cast);
    }

    /** Returns the target of a number, null if it is not driven. */
    @Nullable
    CompletionTarget find(int number) {
        @Nullable CompletionTarget[] now = places;
        int place = number & (now.length - 1);
        CompletionTarget found = now[place];
        while (found != null && found.number() != number) {
            place = (place + 1) & (now.length - 1);
            found = now[place];
        }
        return found;
    }
}
