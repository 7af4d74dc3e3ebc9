// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class OfiAddressTest {
    private static OfiAddress.Endpoint endpoint(int length) {
        byte[] name = new byte[length];
        for (int i = 0; i < length; i++) {
            name[i] = (byte) (i * 37 - 5);
        }
        return OfiAddress.Endpoint.of(3, name);
    }

    @Test
    void isReadAsItWasWritten() throws Exception {
        for (int length : new int[] {1, 16, 192}) {
            OfiAddress address = new OfiAddress(-5, "verbs;ofi_rxm", List.of(endpoint(length), endpoint(7)));
            OfiAddress read = OfiAddress.decode(address.encode());
            assertThat(read).isEqualTo(address);
            assertThat(read.endpoints().get(0).bytes()).hasSize(length);
        }
    }

    @Test
    void unusableEndpointsAreRefused() {
        assertThatThrownBy(() -> new OfiAddress(1, "efa", List.of())).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new OfiAddress(1, "efa", List.of(endpoint(0))))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new OfiAddress(1, "efa", List.of(endpoint(193))))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new OfiAddress(1, "efa", Collections.nCopies(17, endpoint(4))))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void everyDamagedAddressIsRefused() {
        byte[] valid = new OfiAddress(42, "efa", List.of(endpoint(32), endpoint(32))).encode();
        try (FuzzRun run = new FuzzRun("libfabric address", PeerUnreachableException.class)) {
            new Mutations(run.random())
                    .all(
                            valid,
                            run.times(2000),
                            input -> run.attempt(input, () -> {
                                OfiAddress unused = OfiAddress.decode(input);
                                assertThat(Arrays.equals(input, valid)).isTrue();
                                return true;
                            }));
        }
    }
}
