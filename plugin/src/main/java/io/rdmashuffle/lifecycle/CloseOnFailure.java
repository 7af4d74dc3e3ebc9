// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import java.io.Closeable;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Cleanup of resources that were opened before a failed step, for code that transfers ownership when all steps succeed:
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
     * Closes resources in the given order; their exceptions and errors are added as suppressed to {@code failure}.
     *
     * @param resources null elements are skipped
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
