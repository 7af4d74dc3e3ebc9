// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import java.io.Closeable;
import java.io.IOException;
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

    /** Step that uses a resource. */
    @FunctionalInterface
    public interface Step<R> {
        /** Runs with the open resource. */
        void run(R resource) throws IOException;
    }

    /**
     * Runs a step and closes its resource. try-with-resources fails with "Self-suppression not permitted", and so hides
     * the cause, where the step and {@code close()} throw the same object: the JVM's only {@link OutOfMemoryError}, or
     * the error of a stream that remembers it.
     */
    public static <R extends Closeable> void use(R resource, Step<? super R> step) throws IOException {
        try {
            step.run(resource);
        } catch (Throwable failure) {
            close(failure, resource);
            throw failure;
        }
        resource.close();
    }

    /**
     * Closes resources in the order given; what they throw, errors too, is added to {@code failure}, which stays the
     * one to throw.
     *
     * @param resources those that are null were not opened yet
     */
    public static void close(Throwable failure, @Nullable AutoCloseable... resources) {
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (Throwable suppressed) {
                if (suppressed != failure) {
                    failure.addSuppressed(suppressed);
                }
            }
        }
    }
}
