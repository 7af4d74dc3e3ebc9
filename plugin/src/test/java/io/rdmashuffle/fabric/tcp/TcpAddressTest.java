// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class TcpAddressTest {
    @Test
    void isReadAsItWasWritten() throws Exception {
        for (String host : new String[] {"10.0.0.7", "fd00::7", "worker-3.example.org"}) {
            TcpAddress address = new TcpAddress(-5, host, 40_001, 25_000);
            assertThat(TcpAddress.decode(address.encode())).isEqualTo(address);
        }
    }

    @Test
    void unusableHostsAndPortsAreRefused() {
        assertThatThrownBy(() -> new TcpAddress(1, "", 1, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new TcpAddress(1, "x".repeat(256), 1, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new TcpAddress(1, "x", 65_536, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void everyDamagedAddressIsRefused() {
        byte[] valid = new TcpAddress(42, "worker-3.example.org", 40_001, 10_000).encode();
        try (FuzzRun run = new FuzzRun("TCP address", PeerUnreachableException.class)) {
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(2000),
                            input -> run.attempt(input, () -> {
                                TcpAddress unused = TcpAddress.decode(input);
                                assertThat(Arrays.equals(input, valid)).isTrue();
                                return true;
                            }));
        }
    }
}
