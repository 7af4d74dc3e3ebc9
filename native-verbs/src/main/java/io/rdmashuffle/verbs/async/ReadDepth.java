// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import io.rdmashuffle.verbs.CmEvent;
import io.rdmashuffle.verbs.DeviceLimits;

/**
 * Most READs and atomics in flight on a connection, by the side that asks for them.
 *
 * @param asInitiator asked for by this side
 * @param asTarget asked for by the peer
 */
record ReadDepth(int asInitiator, int asTarget) {
    /** Enough for 16 x 64 KiB on the wire. */
    static final int MAX = 16;

    /** Returns this side's proposal: the limits of its device, up to {@link #MAX}. */
    static ReadDepth of(DeviceLimits limits) {
        return new ReadDepth(Math.min(MAX, limits.maxReadsAsInitiator()), Math.min(MAX, limits.maxReadsAsTarget()));
    }

    /**
     * Returns the common limits of both sides. A peer may ask for, or grant, more than this side's device supports.
     *
     * @param event a CONNECT_REQUEST or CONNECT_RESPONSE, which has the peer's numbers as this side sees them
     */
    ReadDepth within(CmEvent event) {
        return new ReadDepth(
                Math.min(asInitiator, event.initiatorDepth()), Math.min(asTarget, event.responderResources()));
    }
}
