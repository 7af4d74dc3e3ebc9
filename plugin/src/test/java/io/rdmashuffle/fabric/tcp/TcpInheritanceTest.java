// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.InheritanceContract;

class TcpInheritanceTest extends InheritanceContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestTcp.fabric(maxBytesInFlight);
    }
}
