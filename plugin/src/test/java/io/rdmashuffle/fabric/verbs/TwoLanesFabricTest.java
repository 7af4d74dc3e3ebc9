// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import org.junit.jupiter.api.Tag;

/** The verbs fabric keeps what every fabric promises, with two data threads. */
@Tag("rdma")
class TwoLanesFabricTest extends VerbsFabricTest {
    @Override
    protected int threads() {
        return 2;
    }
}
