// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The provider shm takes two signals with its first endpoint; in a process of its own, which it may end. */
@Tag("ofi")
@Timeout(60)
class SignalTakingProviderTest {
    @Test
    void isRefusedAndTheHandlersAreBack() throws Exception {
        OfiTestDevice.open().close();
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName())
                .redirectErrorStream(true);
        assertThat(builder.environment()).doesNotContainKey("FI_PROVIDER");
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
    }

    /** Opens a device of shm, twice. */
    static final class Main {
        private Main() {}

        public static void main(String[] args) throws Exception {
            SignalHandlers before = SignalHandlers.now();
            List<OfiDevice> devices = OfiLibrary.load("shm").devices();
            for (int i = 0; i < 2; i++) {
                assertThatThrownBy(() -> OfiEndpoint.open(devices.get(0), 16))
                        .isInstanceOf(RdmaUnavailableException.class)
                        .hasMessageContaining("took SIGBUS, SIGSEGV from the JVM");
                assertThat(before.changed()).isEmpty();
            }
        }
    }
}
