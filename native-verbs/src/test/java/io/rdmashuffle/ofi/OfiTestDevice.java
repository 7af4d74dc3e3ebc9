// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.util.List;

/** Device for tests: a process has one provider, which {@code OFI_PROVIDER} in the environment
 * names. */
final class OfiTestDevice {
    static final String PROVIDER = System.getenv().getOrDefault("OFI_PROVIDER", "tcp;ofi_rxm");

    private OfiTestDevice() {}

    /** Opens a device that this host reaches itself by; skips the test without libfabric, unless it is required. */
    static OfiDevice open() {
        try {
            List<OfiDevice> devices = OfiLibrary.load(PROVIDER).devices();
            OfiDevice found = devices.stream()
                    .filter(device -> device.inetAddress()
                            .map(address -> address.isLoopbackAddress() == !PROVIDER.startsWith("verbs"))
                            .orElse(true))
                    .findFirst()
                    .orElse(null);
            devices.stream().filter(device -> device != found).forEach(OfiDevice::close);
            if (found != null) {
                return found;
            }
            return skip("libfabric finds no device of " + PROVIDER);
        } catch (RdmaUnavailableException e) {
            return skip(String.valueOf(e.getMessage()));
        }
    }

    private static OfiDevice skip(String reason) {
        if ("1".equals(System.getenv("REQUIRE_OFI"))) {
            fail("REQUIRE_OFI=1, but " + reason);
        }
        return abort(reason);
    }
}
