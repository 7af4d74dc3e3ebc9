// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.Fabric;
import io.rdmashuffle.fabric.InheritanceContract;
import org.junit.jupiter.api.Tag;

/** The pool of an ended process is registered with the devices of its heir. */
@Tag("rdma")
class VerbsInheritanceTest extends InheritanceContract {
    @Override
    protected Fabric fabric(long maxBytesInFlight) {
        return TestVerbs.open(TestVerbs.settings(maxBytesInFlight));
    }
}
