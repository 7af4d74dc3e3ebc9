// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.examples;

import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PairAttributes;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Finds the device, the port and its identifier to connect from without librdmacm.
 *
 * <p><b>Threading:</b> stateless.
 *
 * @param deviceName null for the one that has the address, or the first one
 * @param gidIndex row of the port's table; -1 for the best one
 * @param mtuBytes most payload of a packet
 */
record PortChoice(@Nullable String deviceName, int gidIndex, int mtuBytes) {
    static final int ANY_GID = -1;

    /**
     * Opens the device; the caller closes it.
     *
     * @param local address of this side; null if there is none yet
     */
    Context open(VerbsLibrary library, @Nullable InetAddress local) throws IOException {
        try (DeviceList list = DeviceList.read(library)) {
            DeviceList.Device chosen = null;
            for (DeviceList.Device device : list.devices()) {
                if (deviceName == null) {
                    try (Context context = device.open()) {
                        if (context.gids().stream()
                                .anyMatch(gid -> gid.address().equals(local))) {
                            return device.open();
                        }
                        chosen = chosen == null && activePort(context).isPresent() ? device : chosen;
                    }
                } else if (deviceName.equals(device.name())) {
                    return device.open();
                }
            }
            if (chosen == null) {
                throw new IOException(
                        deviceName == null
                                ? "no RDMA device of this machine has an active port (rdma link)"
                                : "no RDMA device " + deviceName + "; devices of this machine: " + list.devices());
            }
            return chosen.open();
        }
    }

    private static Optional<PortAttributes> activePort(Context context) {
        return ports(context).stream().filter(PortAttributes::active).findFirst();
    }

    private static List<PortAttributes> ports(Context context) {
        List<PortAttributes> ports = new ArrayList<>();
        for (int number = 1; number <= context.limits().ports(); number++) {
            ports.add(context.port(number));
        }
        return ports;
    }

    /** Returns what a queue pair of the device connects with. */
    PairAttributes attributes(Context context, @Nullable InetAddress local) throws IOException {
        List<GidEntry> gids = context.gids();
        PortAttributes port = gids.stream()
                .filter(gid -> gid.address().equals(local))
                .map(gid -> context.port(gid.port()))
                .filter(PortAttributes::active)
                .findFirst()
                .or(() -> activePort(context))
                .orElseThrow(() ->
                        new IOException("no port of RDMA device " + context.deviceName() + " is active (rdma link)"));
        List<GidEntry> ofPort =
                gids.stream().filter(gid -> gid.port() == port.number()).toList();
        PairAttributes attributes = PairAttributes.on(port, choose(ofPort, port, local));
        return attributes.withPath(
                Math.min(mtuBytes, port.activeMtuBytes()),
                attributes.serviceLevel(),
                attributes.trafficClass(),
                attributes.hopLimit());
    }

    private @Nullable GidEntry choose(List<GidEntry> gids, PortAttributes port, @Nullable InetAddress local)
            throws IOException {
        if (gidIndex == ANY_GID) {
            return port.ethernet() ? best(gids, local) : null;
        }
        for (GidEntry gid : gids) {
            if (gid.index() == gidIndex) {
                return gid;
            }
        }
        throw new IOException("--gid-index " + gidIndex + ": port " + port.number() + " has the GIDs " + gids);
    }

    private static GidEntry best(List<GidEntry> gids, @Nullable InetAddress local) throws IOException {
        return gids.stream()
                .max(Comparator.comparing((GidEntry gid) -> gid.address().equals(local))
                        .thenComparing(gid -> !gid.address().isLinkLocalAddress())
                        .thenComparing(gid -> gid.type() == GidEntry.Type.ROCE_V2)
                        .thenComparing(gid -> gid.address() instanceof Inet4Address))
                .orElseThrow(() -> new IOException("the port has no GID: give its network interface an IP address"));
    }
}
