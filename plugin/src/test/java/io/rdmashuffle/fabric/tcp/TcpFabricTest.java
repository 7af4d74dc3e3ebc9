// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricContract;
import io.rdmashuffle.fabric.Secret;

class TcpFabricTest extends FabricContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return new TcpFabric(TestTcp.settings(1, maxBytesInFlight, Secret.NONE));
    }

    @Override
    protected int threads() {
        return 1;
    }

    @Override
    protected boolean inPlace() {
        return false;
    }

    @Override
    protected boolean opensRegions() {
        return false;
    }
}
