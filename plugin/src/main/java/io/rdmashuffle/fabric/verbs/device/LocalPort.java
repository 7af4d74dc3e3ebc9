// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.PortAttributes;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;

/**
 * A port of this machine, with one address that connections are made from and to.
 *
 * @param device the kernel's name
 * @param port counts from 1
 * @param address an IP address of the port's own network interface
 * @param gidIndexes where the address stands in the port's table of global identifiers; empty on InfiniBand
 * @param askedGidIndex which of them the user asked for; {@link PortSelector#ANY} if none
 * @param attributes state of the port when it was found
 */
public record LocalPort(
        String device,
        int port,
        InetAddress address,
        List<Integer> gidIndexes,
        int askedGidIndex,
        PortAttributes attributes) {
    /**
     * Best first: routable, since a link-local address is of use on one link only; fast; then IPv4; then by name, so
     * that every start chooses the same.
     */
    static final Comparator<LocalPort> BEST_FIRST = Comparator.comparing(
                    (LocalPort port) -> port.address.isLinkLocalAddress())
            .thenComparing(port -> -port.attributes.gigabitsPerSecond())
            .thenComparing(port -> !(port.address instanceof Inet4Address))
            .thenComparing(LocalPort::device)
            .thenComparing(LocalPort::port)
            .thenComparing(port -> port.address.getHostAddress());

    static LocalPort of(LocalAddress found) {
        return new LocalPort(
                found.deviceName(),
                found.port().number(),
                found.address(),
                found.gidIndexes(),
                PortSelector.ANY,
                found.port());
    }

    /** Returns this port as a user asked for it. */
    LocalPort as(PortSelector selector) {
        return new LocalPort(device, port, address, gidIndexes, selector.gidIndex(), attributes);
    }

    /**
     * Searches for the port that has this one's address now: its device may have another name since it came back.
     *
     * @throws io.rdmashuffle.ffi.NativeException if no RDMA port has that address, or its device cannot be opened
     */
    public LocalPort foundAgain(EventChannel channel) {
        LocalPort found = of(LocalAddress.at(channel, address));
        return new LocalPort(found.device, found.port, address, found.gidIndexes, askedGidIndex, found.attributes);
    }

    /** Returns whether this is what a user asked for. */
    boolean matches(PortSelector selector) {
        return device.equals(selector.device())
                && (selector.port() == PortSelector.ANY || selector.port() == port)
                && (selector.gidIndex() == PortSelector.ANY || gidIndexes.contains(selector.gidIndex()));
    }

    @Override
    public String toString() {
        return device + ":" + port + " " + address.getHostAddress() + (attributes.active() ? "" : " (not active)");
    }
}
