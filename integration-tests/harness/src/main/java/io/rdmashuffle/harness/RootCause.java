// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.harness;

/** Root cause of a failure, in one line. */
public final class RootCause {
    private RootCause() {}

    /** Returns the innermost cause: its class and the first line of its message. */
    public static String of(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        String line =
                String.valueOf(root.getMessage()).strip().lines().findFirst().orElse("");
        return root.getClass().getSimpleName() + ": " + line;
    }
}
