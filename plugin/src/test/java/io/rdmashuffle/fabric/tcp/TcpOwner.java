// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import io.rdmashuffle.fabric.OwnerProcess;

/** Owner that serves over TCP as a process of its own. */
final class TcpOwner {
    private TcpOwner() {}

    public static void main(String[] args) throws Exception {
        OwnerProcess.serve(args, TestTcp.fabric(1 << 20));
    }
}
