// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import org.jspecify.annotations.Nullable;

/**
 * Request to a {@link SoakServer}.
 *
 * @param operation which of its abilities
 * @param job for RUN; null otherwise
 * @param resultFile takes the lines of the result of RUN and AGAIN; empty otherwise
 */
record SoakRequest(Operation operation, @Nullable JobSpec job, String resultFile) {
    enum Operation {
        /** Prepare a job and run it. */
        RUN,
        /** Run the last job again, reading what its map stages left. */
        AGAIN,
        /** Drop all shuffles and report remaining resources. */
        DRAIN,
        /** Decommission one executor. */
        DECOMMISSION
    }

    static SoakRequest of(Operation operation) {
        return new SoakRequest(operation, null, "");
    }
}
