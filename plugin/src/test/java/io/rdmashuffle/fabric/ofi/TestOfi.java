// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;

/** Fabrics over the provider that {@code OFI_PROVIDER} in the environment names; a process has one. */
final class TestOfi {
    static final String PROVIDER = System.getenv().getOrDefault("OFI_PROVIDER", "tcp;ofi_rxm");

    /** Provider shm reads memory of its user's processes past the keys. */
    static final boolean CHECKS_KEYS = !PROVIDER.equals("shm");

    /** Whether the device serves reads of a process that is stopped. */
    static final boolean READS_WITHOUT_OWNER = PROVIDER.startsWith("verbs");

    /** Enough reads for each device of the guest to have one. */
    static final int DEVICES = READS_WITHOUT_OWNER ? 2 : 1;

    private TestOfi() {}

    /** Opens a fabric; skips the test without libfabric, unless it is required. */
    static Fabric fabric(long maxBytesInFlight) {
        InetAddress host = !READS_WITHOUT_OWNER ? InetAddress.getLoopbackAddress() : null;
        try {
            return OfiFabric.open(new OfiSettings(PROVIDER, List.of(), host, Duration.ofSeconds(2), maxBytesInFlight));
        } catch (RdmaUnavailableException e) {
            if ("1".equals(System.getenv("REQUIRE_OFI"))) {
                fail("REQUIRE_OFI=1, but " + e.getMessage());
            }
            return abort(String.valueOf(e.getMessage()));
        }
    }
}
