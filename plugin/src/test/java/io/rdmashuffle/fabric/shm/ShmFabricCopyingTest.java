// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricContract;

class ShmFabricCopyingTest extends FabricContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return new ShmFabric(1, maxBytesInFlight, false);
    }

    @Override
    protected boolean inPlace() {
        return false;
    }
}
