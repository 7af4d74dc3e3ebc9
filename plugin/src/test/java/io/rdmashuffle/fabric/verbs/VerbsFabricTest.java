// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.FabricContract;
import io.rdmashuffle.fabric.Secret;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** The verbs fabric keeps what every fabric promises, with one data thread. */
@Tag("rdma")
class VerbsFabricTest extends FabricContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestVerbs.open(TestVerbs.settings(maxBytesInFlight, List.of(), threads(), Secret.NONE));
    }

    @Override
    protected boolean inPlace() {
        return false;
    }
}
