// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.CmId;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A port of this machine, with one address that connections are made from and to.
 *
 * @param device the kernel's name
 * @param port counts from 1
 * @param address an IP address of the port's own network interface
 * @param gidIndexes where the address stands in the port's table of global identifiers; empty on InfiniBand
 * @param attributes state of the port when it was found
 */
public record LocalPort(
        String device, int port, InetAddress address, List<Integer> gidIndexes, PortAttributes attributes) {
    /** Best first: fast, then IPv4, then by name so that every start chooses the same. */
    private static final Comparator<LocalPort> BEST_FIRST = Comparator.comparingDouble(
                    (LocalPort port) -> -port.attributes.gigabitsPerSecond())
            .thenComparing(port -> !(port.address instanceof Inet4Address))
            .thenComparing(LocalPort::device)
            .thenComparing(LocalPort::port)
            .thenComparing(port -> port.address.getHostAddress());

    /**
     * Finds the ports to use.
     *
     * @param selectors which to use, in this order; empty for the best active one
     * @throws RdmaUnavailableException if there is none, or one that was asked for is not there or not active
     */
    public static List<LocalPort> choose(VerbsLibrary library, EventChannel channel, List<PortSelector> selectors)
            throws RdmaUnavailableException {
        List<LocalPort> active = new ArrayList<>();
        List<LocalPort> all = find(channel);
        all.stream().filter(port -> port.attributes.active()).sorted(BEST_FIRST).forEach(active::add);
        if (active.isEmpty()) {
            throw new RdmaUnavailableException(whyNone(library, all));
        }
        if (selectors.isEmpty()) {
            return active.subList(0, 1);
        }
        List<LocalPort> chosen = new ArrayList<>();
        for (PortSelector selector : selectors) {
            chosen.add(active.stream()
                    .filter(port -> port.matches(selector))
                    .findFirst()
                    .orElseThrow(() -> new RdmaUnavailableException("there is no active port " + selector + " with an"
                            + " address, but " + describe(active)
                            + " (spark.shuffle.rdma.fabric.verbs.devices)")));
        }
        return chosen;
    }

    private static String whyNone(VerbsLibrary library, List<LocalPort> all) {
        if (!all.isEmpty()) {
            return "no RDMA port is active: " + describe(all);
        }
        try (DeviceList devices = DeviceList.read(library)) {
            return devices.devices().isEmpty()
                    ? "this machine has no RDMA device"
                    : "no RDMA device has an IP address on its port: " + devices.devices();
        }
    }

    private static String describe(List<LocalPort> ports) {
        return ports.stream().map(LocalPort::toString).collect(Collectors.joining(", "));
    }

    private boolean matches(PortSelector selector) {
        return device.equals(selector.device())
                && (selector.port() == PortSelector.ANY || selector.port() == port)
                && (selector.gidIndex() == PortSelector.ANY || gidIndexes.contains(selector.gidIndex()));
    }

    /** Tries every address of this machine: those that an id can be bound to belong to an RDMA device. */
    private static List<LocalPort> find(EventChannel channel) {
        List<LocalPort> ports = new ArrayList<>();
        try {
            for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (network.isLoopback()) {
                    continue;
                }
                for (InetAddress address : Collections.list(network.getInetAddresses())) {
                    LocalPort port = at(channel, address);
                    if (port != null) {
                        ports.add(port);
                    }
                }
            }
        } catch (SocketException e) {
            throw new IllegalStateException("cannot list this machine's network interfaces", e);
        }
        return ports;
    }

    private static @Nullable LocalPort at(EventChannel channel, InetAddress address) {
        try (CmId id = channel.createId()) {
            id.bind(new InetSocketAddress(address, 0));
            try (Context context = id.context()) {
                if (context == null) {
                    return null;
                }
                int port = Math.max(1, id.portNumber());
                List<Integer> gids = context.gids().stream()
                        .filter(gid -> gid.port() == port && gid.address().equals(address))
                        .map(GidEntry::index)
                        .toList();
                return new LocalPort(context.deviceName(), port, address, gids, context.port(port));
            }
        } catch (NativeException notOfAnRdmaDevice) {
            return null;
        }
    }

    @Override
    public String toString() {
        return device + ":" + port + " " + address.getHostAddress() + (attributes.active() ? "" : " (not active)");
    }
}
