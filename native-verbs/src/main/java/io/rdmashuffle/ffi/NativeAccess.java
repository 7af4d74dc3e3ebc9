// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ffi;

import java.util.Optional;

/**
 * Check whether this JVM may call native code. Newer versions may deny it (JEP 472), and the native library cannot be
 * loaded if {@code java.io.tmpdir} is mounted {@code noexec}.
 *
 * <p><b>Threading:</b> thread-safe; tried once.
 */
public final class NativeAccess {
    private static final Optional<String> REASON_AGAINST = tried();

    private NativeAccess() {}

    /**
     * Returns the reason why native code cannot be called.
     *
     * @return the reason and the remedy; empty if native code can be called
     */
    public static Optional<String> reasonAgainst() {
        return REASON_AGAINST;
    }

    private static Optional<String> tried() {
        try {
            LibC.load().geteuid();
            return Optional.empty();
        } catch (LinkageError | IllegalCallerException e) {
            return Optional.of("native code cannot be called (" + summary(e) + "); a Java that denies it wants"
                    + " --enable-native-access=ALL-UNNAMED, and java.io.tmpdir must allow execution");
        }
    }

    /** The cause furthest down says most; some have a stack trace in their message. */
    private static String summary(Throwable failure) {
        Throwable deepest = failure;
        while (deepest.getCause() != null) {
            deepest = deepest.getCause();
        }
        String message = String.valueOf(deepest.getMessage());
        return message.lines().findFirst().orElse(message);
    }
}
