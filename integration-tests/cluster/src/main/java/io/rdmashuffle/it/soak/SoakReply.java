// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.it.soak;

import java.util.Map;

/**
 * Reply of a {@link SoakServer}.
 *
 * @param lines of the result
 * @param millis that the action took
 * @param counters of our manager after DRAIN, by label
 * @param error why it failed, or empty
 */
record SoakReply(long lines, long millis, Map<String, Long> counters, String error) {
    SoakReply {
        counters = Map.copyOf(counters);
    }

    static SoakReply failed(String error) {
        return new SoakReply(0, 0, Map.of(), error);
    }

    boolean ok() {
        return error.isEmpty();
    }
}
