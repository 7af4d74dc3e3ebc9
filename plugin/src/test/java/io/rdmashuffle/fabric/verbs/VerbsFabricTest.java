// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricContract;
import org.junit.jupiter.api.Tag;

/** The verbs fabric keeps what every fabric promises. */
@Tag("rdma")
class VerbsFabricTest extends FabricContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestVerbs.open(TestVerbs.settings(maxBytesInFlight));
    }

    @Override
    protected boolean inPlace() {
        return false;
    }
}
