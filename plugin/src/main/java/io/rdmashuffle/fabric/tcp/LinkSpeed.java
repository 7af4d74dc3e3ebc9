// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Speed of a network interface, as its driver reports it to the kernel.
 *
 * <p>Only hardware and bonds of it are asked: a virtual interface of a container reports a speed that nothing limits it
 * to. Drivers of cloud instances often report none. Source: {@code Documentation/ABI/testing/sysfs-class-net} of
 * Linux.
 *
 * <p><b>Threading:</b> stateless.
 */
final class LinkSpeed {
    private static final Logger LOG = LoggerFactory.getLogger(LinkSpeed.class);
    private static final Path INTERFACES = Path.of("/sys/class/net");

    private LinkSpeed() {}

    /** Returns the speed in Mb/s of the interface with the address of this host; 0 if it is not known. */
    static int ofHost(String host) {
        try {
            for (InetAddress address : InetAddress.getAllByName(host)) {
                NetworkInterface found = NetworkInterface.getByInetAddress(address);
                if (found != null) {
                    return ofInterface(INTERFACES, found.getName());
                }
            }
        } catch (IOException e) {
            LOG.debug("The speed of the network interface of {} is not known", host, e);
        }
        return 0;
    }

    /** Returns the speed in Mb/s that a driver reports below a directory of interfaces; 0 if it reports none. */
    static int ofInterface(Path interfaces, String name) {
        Path directory = interfaces.resolve(name);
        if (!Files.exists(directory.resolve("device")) && !Files.exists(directory.resolve("bonding"))) {
            return 0;
        }
        try {
            return Math.max(
                    0,
                    Integer.parseInt(
                            Files.readString(directory.resolve("speed")).strip()));
        } catch (IOException | NumberFormatException e) {
            // Reading it fails with EINVAL while the link is down, and where the driver knows none.
            LOG.debug("The driver of {} reports no speed", name, e);
            return 0;
        }
    }
}
