// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import io.rdmashuffle.ffi.NativeException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Handlers of the signals that the JVM raises and catches itself, for null checks and stack overflows among others. A
 * library that replaces one ends the JVM later, at any null pointer.
 *
 * <p><b>Threading:</b> immutable.
 *
 * <p><b>Source:</b> sigaction(2).
 */
final class SignalHandlers {
    /** {@code sizeof(struct sigaction)} of the C library. */
    private static final int ACTION_BYTES = 152;

    /** The handler, and of the mask what the kernel knows: the C library leaves the rest as it happens to be. */
    private static final int COMPARED_BYTES = 16;

    private static final int FLAGS_OFFSET = 136;

    private static final Map<Integer, String> SIGNALS = new TreeMap<>(Map.of(
            LibC.SIGSEGV, "SIGSEGV",
            LibC.SIGBUS, "SIGBUS",
            LibC.SIGFPE, "SIGFPE",
            LibC.SIGILL, "SIGILL"));

    private final Map<Integer, byte[]> actions = new TreeMap<>();

    private SignalHandlers() {}

    /** Returns the handlers of this moment. */
    static SignalHandlers now() {
        SignalHandlers handlers = new SignalHandlers();
        try (NativeBuffer action = new NativeBuffer(ACTION_BYTES)) {
            for (int signal : SIGNALS.keySet()) {
                action.clear();
                call(signal, 0, action.address());
                byte[] bytes = new byte[ACTION_BYTES];
                action.getBytes(0, bytes, 0, COMPARED_BYTES);
                action.getBytes(FLAGS_OFFSET, bytes, FLAGS_OFFSET, Integer.BYTES);
                handlers.actions.put(signal, bytes);
            }
        }
        return handlers;
    }

    /** Returns the names of the signals that have other handlers now. */
    List<String> changed() {
        SignalHandlers current = now();
        List<String> changed = new ArrayList<>();
        SIGNALS.forEach((signal, name) -> {
            if (!Arrays.equals(actions.get(signal), current.actions.get(signal))) {
                changed.add(name);
            }
        });
        return changed;
    }

    /** Installs these handlers again. */
    void restore() {
        try (NativeBuffer action = new NativeBuffer(ACTION_BYTES)) {
            actions.forEach((signal, bytes) -> {
                action.putBytes(0, bytes, 0, ACTION_BYTES);
                call(signal, action.address(), 0);
            });
        }
    }

    private static void call(int signal, long action, long before) {
        if (LibC.load().sigaction(signal, action, before) != 0) {
            throw new NativeException("sigaction(" + SIGNALS.get(signal) + ")", NativeException.lastErrno(), "");
        }
    }
}
