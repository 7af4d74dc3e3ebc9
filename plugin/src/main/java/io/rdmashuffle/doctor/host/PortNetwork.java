// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

/**
 * Network interface of a port.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> Linux, Documentation/ABI/stable/sysfs-class-infiniband (gid_attrs/ndevs, gids). On iWARP no GID has
 * an interface, but drivers (siw, irdma, cxgb4) make the first one of its hardware address.
 */
final class PortNetwork {
    private static final int HARDWARE_ADDRESS_DIGITS = 12;

    private PortNetwork() {}

    /** Returns the name of the interface; empty if the kernel does not tell. */
    static String of(HostFiles files, String device, int port) {
        String folder = "sys/class/infiniband/" + device + "/ports/" + port + "/";
        String named = files.read(folder + "gid_attrs/ndevs/0").strip();
        String first = digits(files.read(folder + "gids/0"));
        if (!named.isEmpty() || first.length() < HARDWARE_ADDRESS_DIGITS) {
            return named;
        }
        String hardwareAddress = first.substring(0, HARDWARE_ADDRESS_DIGITS);
        return files.list("sys/class/net").stream()
                .filter(name ->
                        digits(files.read("sys/class/net/" + name + "/address")).equals(hardwareAddress))
                .findFirst()
                .orElse("");
    }

    private static String digits(String address) {
        return address.strip().replace(":", "");
    }
}
