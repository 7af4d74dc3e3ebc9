// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.RevocationContract;

/** Tests that shared mappings are not revoked. */
class ShmRevocationTest extends RevocationContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return new ShmFabric(1, maxBytesInFlight, true);
    }

    @Override
    protected boolean revokes() {
        return false;
    }
}
