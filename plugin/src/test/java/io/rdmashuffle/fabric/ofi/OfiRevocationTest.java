// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.RevocationContract;
import org.junit.jupiter.api.Tag;

@Tag("ofi")
class OfiRevocationTest extends RevocationContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestOfi.fabric(maxBytesInFlight);
    }

    @Override
    protected boolean revokes() {
        return TestOfi.CHECKS_KEYS;
    }
}
