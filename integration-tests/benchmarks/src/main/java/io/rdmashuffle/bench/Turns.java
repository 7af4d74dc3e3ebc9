// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;

/**
 * The order of those who take part, round by round: each time another one begins, since who goes first finds the
 * machine otherwise.
 *
 * <p><b>Threading:</b> one thread.
 *
 * @param <T> who takes part
 */
public final class Turns<T> {
    private final List<T> all;
    private int turn;

    /** Starts with the order that is given. */
    public Turns(Collection<T> all) {
        this.all = List.copyOf(all);
    }

    /** Returns all of them in the order of the next round. */
    public List<T> next() {
        List<T> order = upcoming();
        turn = (turn + 1) % order.size();
        return order;
    }

    /**
     * Returns the order that {@link #next} will return, for a warm-up: between it and the round each waits for as many
     * others, and the JIT compilers of each have as long.
     */
    public List<T> upcoming() {
        List<T> order = new ArrayList<>(all);
        Collections.rotate(order, -turn);
        return order;
    }
}
