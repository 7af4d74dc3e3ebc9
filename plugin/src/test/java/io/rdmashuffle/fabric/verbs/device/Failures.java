// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.ffi.Errno;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which functions of a fake device fail.
 *
 * <p><b>Threading:</b> of its {@link FakeRdma}.
 */
final class Failures {
    private final Map<String, Errno> errors = new HashMap<>();
    /** How many more calls succeed of a function that fails then. */
    private final Map<String, Integer> spared = new HashMap<>();

    /** Makes a function fail after {@code calls} calls. */
    void add(String function, Errno errno, int calls) {
        errors.put(function, errno);
        spared.put(function, calls);
    }

    void remove(String function) {
        errors.remove(function);
    }

    /** Returns why this call of a function fails, null if it does not. */
    @Nullable
    Errno ofCall(String function) {
        Errno error = errors.get(function);
        if (error == null || spared.merge(function, -1, Integer::sum) >= 0) {
            return null;
        }
        spared.put(function, 0);
        return error;
    }
}
