// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PortAttributes;
import java.util.List;

/**
 * An RDMA device as libibverbs shows it.
 *
 * @param name the kernel's
 * @param problem why it cannot be opened; empty if it can
 * @param reliable whether it has reliable connections over rdma_cm
 * @param transport its protocol
 * @param firmware as the vendor writes it; may be empty
 * @param onDemandPaging whether memory need not be pinned for it
 * @param ports in order
 */
record DeviceFacts(
        String name,
        String problem,
        boolean reliable,
        String transport,
        String firmware,
        boolean onDemandPaging,
        List<Port> ports) {

    /**
     * One of its ports.
     *
     * @param attributes state, speed, kind of link
     * @param network name of its network interface; empty if the kernel names none, as on InfiniBand
     * @param addresses IP addresses of this machine that belong to it
     * @param gids its table of global identifiers
     */
    record Port(PortAttributes attributes, String network, List<String> addresses, List<GidEntry> gids) {}

    /** Returns a device that cannot be opened. */
    static DeviceFacts closed(String name, String problem) {
        return new DeviceFacts(name, problem, false, "", "", false, List.of());
    }
}
