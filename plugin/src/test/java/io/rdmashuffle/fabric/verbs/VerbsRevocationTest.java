// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.RevocationContract;
import org.junit.jupiter.api.Tag;

/** Queue pairs of processes that have left are ended at their owner. */
@Tag("rdma")
class VerbsRevocationTest extends RevocationContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestVerbs.open(TestVerbs.settings(maxBytesInFlight));
    }

    @Override
    protected boolean revokes() {
        return true;
    }
}
