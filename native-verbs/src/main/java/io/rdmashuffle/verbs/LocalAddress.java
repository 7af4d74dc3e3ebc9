// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * An IP address of this machine that belongs to a port of an RDMA device.
 *
 * <p>Found by binding to each address: only RoCE has them in its table of global identifiers, InfiniBand has them on
 * its IPoIB interfaces alone.
 *
 * <p><b>Source:</b> rdma_bind_addr(3).
 *
 * @param deviceName the kernel's name of the device
 * @param port state of the port when the address was found
 * @param address what ids bind to
 * @param gidIndexes where the address stands in the port's table of global identifiers; empty on InfiniBand
 */
public record LocalAddress(String deviceName, PortAttributes port, InetAddress address, List<Integer> gidIndexes) {
    private static final Comparator<LocalAddress> BEST_FIRST = Comparator.comparingInt(
                    (LocalAddress local) -> local.port.number())
            .thenComparing(local -> !(local.address instanceof Inet4Address))
            .thenComparing(local -> local.address.getHostAddress());

    /**
     * Finds all of them.
     *
     * @param channel for ids that live during the call
     * @return in the order of this machine's network interfaces, loopback interfaces left out; perhaps none
     * @throws IllegalStateException if the interfaces cannot be listed
     */
    public static List<LocalAddress> find(EventChannel channel) {
        return find(channel, ofThisMachine());
    }

    /** Finds those among these addresses. */
    static List<LocalAddress> find(EventChannel channel, List<InetAddress> addresses) {
        return addresses.stream()
                .map(address -> ofDevice(channel, address))
                .flatMap(Optional::stream)
                .toList();
    }

    private static Optional<LocalAddress> ofDevice(EventChannel channel, InetAddress address) {
        try {
            return Optional.of(at(channel, address));
        } catch (NativeException notOfAnRdmaDevice) {
            return Optional.empty();
        }
    }

    /**
     * {@return all IP addresses of this machine, in the order of its network interfaces, loopback interfaces left out}
     *
     * @throws IllegalStateException if the interfaces cannot be listed
     */
    public static List<InetAddress> ofThisMachine() {
        List<InetAddress> addresses = new ArrayList<>();
        try {
            for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (!network.isLoopback()) {
                    addresses.addAll(Collections.list(network.getInetAddresses()));
                }
            }
        } catch (SocketException e) {
            throw new IllegalStateException("cannot list this machine's network interfaces", e);
        }
        return addresses;
    }

    /**
     * Finds the port that an address of this machine belongs to.
     *
     * @param channel for an id that lives during the call
     * @param address one of this machine's
     * @return the port, with this address
     * @throws NativeException ENODEV: the address belongs to no RDMA device
     */
    public static LocalAddress at(EventChannel channel, InetAddress address) {
        try (CmId id = channel.createId()) {
            id.bind(new InetSocketAddress(address, 0));
            try (Context context = id.context()) {
                if (context == null) {
                    throw new NativeException(
                            "rdma_bind_addr(" + address.getHostAddress() + ")", Errno.ENODEV.number(), "");
                }
                int port = Math.max(1, id.portNumber());
                List<Integer> gids = context.gids().stream()
                        .filter(gid -> gid.port() == port && gid.address().equals(address))
                        .map(GidEntry::index)
                        .toList();
                return new LocalAddress(context.deviceName(), context.port(port), address, gids);
            }
        }
    }

    /**
     * Finds the address to use of a device: of its first active port, IPv4 before IPv6, link-local ones never.
     *
     * @param library the native functions
     * @param deviceName the kernel's name, for example {@code mlx5_0}
     * @return the address
     * @throws IOException if there is no such device, or none of its active ports has an address
     * @throws NativeException if the kernel has no RDMA
     */
    public static LocalAddress ofDevice(VerbsLibrary library, String deviceName) throws IOException {
        try (EventChannel channel = EventChannel.open(library)) {
            return choose(library, deviceName, find(channel));
        }
    }

    static LocalAddress choose(VerbsLibrary library, String deviceName, List<LocalAddress> all) throws IOException {
        List<LocalAddress> ofDevice = all.stream()
                .filter(local -> local.deviceName.equals(deviceName))
                .filter(local -> !local.address.isLinkLocalAddress())
                .sorted(BEST_FIRST)
                .toList();
        for (LocalAddress local : ofDevice) {
            if (local.port.active()) {
                return local;
            }
        }
        throw new IOException(
                ofDevice.isEmpty()
                        ? whyNone(library, deviceName)
                        : "no port of RDMA device " + deviceName + " is active (rdma link): " + ofDevice);
    }

    private static String whyNone(VerbsLibrary library, String deviceName) {
        try (DeviceList list = DeviceList.read(library)) {
            boolean there =
                    list.devices().stream().anyMatch(device -> device.name().equals(deviceName));
            return there
                    ? "none of this machine's IP addresses belongs to RDMA device " + deviceName
                            + "; give its network interface one, on InfiniBand IPoIB's (rdma link; ip addr)"
                    : "no RDMA device " + deviceName + "; devices of this machine: " + list.devices();
        }
    }

    @Override
    public String toString() {
        return deviceName + ":" + port.number() + " " + address.getHostAddress();
    }
}
