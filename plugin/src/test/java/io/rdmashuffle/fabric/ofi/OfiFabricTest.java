// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricContract;
import org.junit.jupiter.api.Tag;

@Tag("ofi")
class OfiFabricTest extends FabricContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestOfi.fabric(maxBytesInFlight);
    }

    @Override
    protected boolean inPlace() {
        return false;
    }
}
