// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.LibC;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test that leaves a native object open, or takes standard input for a descriptor of its own. */
public final class LeakCheck implements AfterEachCallback {
    private static final int STANDARD_INPUT = 0;

    @Override
    public void afterEach(ExtensionContext context) {
        assertThat(ResourceLedger.open()).as("native objects left open").isEmpty();
        assertThat(LibC.load().fcntl(STANDARD_INPUT, LibC.F_GETFL, 0) & LibC.O_NONBLOCK)
                .as("standard input is non-blocking, and surefire reads it")
                .isZero();
    }
}
