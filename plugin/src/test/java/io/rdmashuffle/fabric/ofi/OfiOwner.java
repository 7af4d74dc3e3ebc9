// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.ofi;

import io.rdmashuffle.fabric.OwnerProcess;

/** Owner that serves through libfabric as a process of its own. */
final class OfiOwner {
    private OfiOwner() {}

    public static void main(String[] args) throws Exception {
        OwnerProcess.serve(args, TestOfi.fabric(1 << 20));
    }
}
