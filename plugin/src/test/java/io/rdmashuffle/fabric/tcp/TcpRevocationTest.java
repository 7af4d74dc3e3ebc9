// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.RevocationContract;

class TcpRevocationTest extends RevocationContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestTcp.fabric(maxBytesInFlight);
    }

    @Override
    protected boolean revokes() {
        return true;
    }
}
