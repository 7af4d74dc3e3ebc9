// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.CmEvent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** The peer refused a connection, or there is no listener at its address. */
public final class RdmaRefusedException extends IOException {
    private static final long serialVersionUID = 1;

    private final String reason;

    RdmaRefusedException(InetSocketAddress remote, CmEvent rejected) {
        this(remote, rejected, decode(rejected.privateData()));
    }

    /** On iWARP rdma_connect itself connects, and says so when there is no listener. */
    RdmaRefusedException(InetSocketAddress remote, NativeException refused) {
        super("connect to " + remote + ": no listener at that address: " + refused.getMessage(), refused);
        this.reason = "";
    }

    private RdmaRefusedException(InetSocketAddress remote, CmEvent rejected, String reason) {
        super("connect to " + remote + ": "
                + (reason.isEmpty() ? rejected.describe() : "the peer refused the request: " + reason));
        this.reason = reason;
    }

    /** Cuts the zeros that the transport adds, and what a terminal should not see: any peer may have sent it. */
    private static String decode(byte[] data) {
        return new String(data, StandardCharsets.UTF_8).replaceAll("\0+$", "").replaceAll("\\p{Cntrl}", "?");
    }

    /** {@return the reason that the listener gave, empty if it gave none or there is no listener} */
    public String reason() {
        return reason;
    }
}
