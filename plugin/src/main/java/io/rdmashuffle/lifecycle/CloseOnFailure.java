// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import org.jspecify.annotations.Nullable;

/**
 * Closes what was opened before a step that failed, for code that hands its resources over when all steps succeed:
 *
 * <pre>{@code
 * Resource resource = open();
 * try {
 *     prepare(resource);
 *     return resource;
 * } catch (Throwable failure) {
 *     CloseOnFailure.close(failure, resource);
 *     throw failure;
 * }
 * }</pre>
 *
 * <p><b>Threading:</b> stateless.
 */
public final class CloseOnFailure {
    private CloseOnFailure() {}

    /**
     * Closes resources in the order given; what they throw is added to {@code failure}.
     *
     * @param resources those that are null were not opened yet
     */
    public static void close(Throwable failure, @Nullable AutoCloseable... resources) {
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (Exception suppressed) {
                failure.addSuppressed(suppressed);
            }
        }
    }
}
