// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.ffi.NativeBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Tag("unit")
@Timeout(30)
class SignalHandlersTest {
    private static final int ACTION_BYTES = 152;

    @Test
    void nothingHasChangedIfNothingWasDone() {
        assertThat(SignalHandlers.now().changed()).isEmpty();
    }

    /** SIGFPE: the JVM raises it for a division by zero only, which the test does not do. */
    @Test
    void aReplacedHandlerIsFoundAndRestored() {
        SignalHandlers before = SignalHandlers.now();
        try (NativeBuffer action = new NativeBuffer(ACTION_BYTES)) {
            assertThat(LibC.load().sigaction(LibC.SIGFPE, action.address(), 0)).isZero();
            assertThat(before.changed()).containsExactly("SIGFPE");
        } finally {
            before.restore();
        }
        assertThat(before.changed()).isEmpty();
    }
}
