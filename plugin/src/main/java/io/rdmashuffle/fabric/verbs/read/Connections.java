// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.read;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The connections of one data thread by serial number: 16 bits of place, 16 bits that tell users of a place apart, so
 * that a completion left over from a closed queue pair finds no connection.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Connections {
    private static final int PLACE_BITS = 16;
    private static final int MAX_PLACES = 1 << PLACE_BITS;

    private final List<@Nullable Connection> places = new ArrayList<>();
    private int generation;

    /** Adds a connection; returns false if there are 65536 already. */
    boolean add(Connection connection) {
        int place = places.indexOf(null);
        if (place < 0) {
            place = places.size();
            if (place == MAX_PLACES) {
                return false;
            }
            places.add(null);
        }
        generation = (generation + 1) & (MAX_PLACES - 1);
        connection.registeredAs(generation << PLACE_BITS | place);
        places.set(place, connection);
        return true;
    }

    /** Returns the connection of a serial number, or null if it is gone. */
    @Nullable
    Connection find(int serial) {
        int place = serial & (MAX_PLACES - 1);
        Connection connection = place < places.size() ? places.get(place) : null;
        return connection != null && connection.serial() == serial ? connection : null;
    }

    void remove(Connection connection) {
        int place = connection.serial() & (MAX_PLACES - 1);
        if (places.get(place) == connection) {
            places.set(place, null);
        }
    }

    void forEach(Consumer<Connection> action) {
        // A copy: the action may remove its connection.
        places.stream().filter(Objects::nonNull).toList().forEach(action);
    }
}
