// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs;

import io.rdmashuffle.fabric.OwnerProcess;

/** Owner that can be read from over RDMA, as a process of its own. */
final class VerbsOwner {
    private VerbsOwner() {}

    public static void main(String[] args) throws Exception {
        OwnerProcess.serve(args, VerbsFabric.open(TestVerbs.settings(1 << 20)));
    }
}
