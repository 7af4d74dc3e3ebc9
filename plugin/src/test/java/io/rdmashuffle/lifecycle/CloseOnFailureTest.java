// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Failures of a step and of the close that follows it. */
@Tag("unit")
@Timeout(10)
class CloseOnFailureTest {
    private final AtomicInteger closed = new AtomicInteger();

    private Closeable resource(Throwable failure) {
        return () -> {
            closed.incrementAndGet();
            if (failure instanceof Error error) {
                throw error;
            }
            throw (IOException) failure;
        };
    }

    @Test
    void keepsAFailureThatCloseRepeats() {
        OutOfMemoryError only = new OutOfMemoryError("the JVM has one of them");
        assertThatThrownBy(() -> CloseOnFailure.use(resource(only), resource -> {
                    throw only;
                }))
                .isSameAs(only)
                .hasNoSuppressedExceptions();
    }

    @Test
    void addsWhatCloseThrowsToTheFailure() {
        IOException first = new IOException("disk full");
        OutOfMemoryError error = new OutOfMemoryError("while closing");
        IOException last = new IOException("still full");
        CloseOnFailure.close(first, resource(first), null, resource(error), resource(last));
        assertThat(first.getSuppressed()).containsExactly(error, last);
        assertThat(closed).hasValue(3);
    }

    @Test
    void throwsWhatCloseThrowsAfterSuccess() {
        IOException failure = new IOException("cannot flush");
        assertThatThrownBy(() -> CloseOnFailure.use(resource(failure), resource -> {}))
                .isSameAs(failure);
    }
}
