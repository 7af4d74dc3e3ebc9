// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The doctor's read, over the provider that {@code OFI_PROVIDER} in the environment names. */
@Tag("ofi")
@Timeout(60)
class OfiLoopbackTest {
    private static final String PROVIDER = System.getenv().getOrDefault("OFI_PROVIDER", "tcp;ofi_rxm");

    private static OfiLoopback.Result over(List<String> devices) throws Exception {
        try {
            return OfiLoopback.over(PROVIDER, devices);
        } catch (RdmaUnavailableException e) {
            boolean isMissing = String.valueOf(e.getMessage()).contains("install libfabric");
            assumeTrue(!isMissing || "1".equals(System.getenv("REQUIRE_OFI")), e.getMessage());
            throw e;
        }
    }

    @Test
    void aReadBringsTheRightBytes() throws Exception {
        OfiLoopback.Result all = over(List.of());
        assertThat(all.devices()).isNotEmpty().doesNotHaveDuplicates();
        assertThat(all.pinnings()).isBetween(1, 2 * all.devices().size());
        assertThat(over(List.of(all.devices().get(0))).devices())
                .containsExactly(all.devices().get(0));
    }

    @Test
    void aDeviceThatDoesNotExistIsMissed() throws Exception {
        assertThat(over(List.of()).devices()).isNotEmpty();
        assertThatThrownBy(() -> over(List.of("no-such-device")))
                .isInstanceOf(RdmaUnavailableException.class)
                .hasMessageContaining("has no device of the provider");
    }
}
