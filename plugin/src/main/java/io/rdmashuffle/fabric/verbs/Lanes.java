// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.verbs.read.DataThread;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The fabric's data threads by lane: those of the first rail, those of the second, and so on.
 *
 * <p><b>Threading:</b> for any thread, once all rails are there.
 *
 * @param threadsOfRail how many each rail has
 * @param closed whether the fabric is closed, so that no data thread comes back
 */
record Lanes(List<RailSlot> rails, int threadsOfRail, BooleanSupplier closed) {
    /** Returns the number of lanes, which is constant. */
    int count() {
        return rails.size() * threadsOfRail;
    }

    /** Returns the data thread of a lane, null while its rail is lost. */
    @Nullable
    DataThread thread(int lane) {
        RunningRail rail = rails.get(lane / threadsOfRail).running();
        return rail == null ? null : rail.dataThreads().get(lane % threadsOfRail);
    }
}
