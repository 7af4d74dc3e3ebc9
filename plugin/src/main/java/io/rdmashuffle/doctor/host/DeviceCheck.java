// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.conf.VerbsConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.verbs.GidEntry;
import io.rdmashuffle.verbs.PortAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Check of devices and ports, with the used ones, or the remedy if there is none.
 *
 * <p><b>Threading:</b> stateless.
 */
final class DeviceCheck {
    private static final String DEVICES = "devices";
    private static final String GID = "gid";

    private DeviceCheck() {}

    /** Describes all devices, where some port is used, and the kind of packets of those ports. */
    static List<Finding> used(List<DeviceFacts> devices, List<LocalPort> ports, HostFiles files) {
        List<Finding> findings = unused(devices);
        findings.add(Finding.ok("ports", "used: " + ports).with("ports", texts(ports)));
        for (LocalPort port : ports) {
            if (port.attributes().ethernet()) {
                devices.stream()
                        .filter(device -> device.name().equals(port.device())
                                && device.transport().equals("INFINIBAND"))
                        .flatMap(device -> device.ports().stream())
                        .filter(facts -> facts.attributes().number() == port.port())
                        .forEach(facts -> findings.add(roce(port, facts.gids(), files)));
            }
        }
        return findings;
    }

    private static Finding roce(LocalPort port, List<GidEntry> gids, HostFiles files) {
        String mode = files.read(
                        "sys/kernel/config/rdma_cm/" + port.device() + "/ports/" + port.port() + "/default_roce_mode")
                .strip();
        boolean versionTwo = gids.stream()
                .anyMatch(gid ->
                        gid.type() == GidEntry.Type.ROCE_V2 && gid.address().equals(port.address()));
        if (versionTwo && !mode.contains("v1")) {
            return Finding.ok(
                    GID, port + " has a GID of RoCE v2" + (mode.isEmpty() ? "" : ", and rdma_cm uses " + mode));
        }
        return Finding.wrong(
                GID,
                Effect.LESS,
                versionTwo
                        ? "rdma_cm connects " + port + " with " + mode + ", which no router forwards"
                        : port + " has no GID of RoCE v2 for its address: it speaks v1, which no router forwards",
                versionTwo
                        ? "cma_roce_mode -d " + port.device() + " -p " + port.port() + " -m 2"
                        : "let the device's driver speak RoCE v2 (its documentation), or keep all executors in one"
                                + " Ethernet segment");
    }

    /** Describes all devices. */
    static List<Finding> unused(List<DeviceFacts> devices) {
        List<Finding> findings = new ArrayList<>();
        for (DeviceFacts device : devices) {
            String message = device.name() + ": " + (device.problem().isEmpty() ? describe(device) : device.problem());
            findings.add(Finding.ok(DEVICES, message)
                    .with("device", device.name())
                    .with("transport", device.transport())
                    .with("usable", device.problem().isEmpty() && device.reliable())
                    .with("onDemandPaging", device.onDemandPaging()));
        }
        return findings;
    }

    private static String describe(DeviceFacts device) {
        if (!device.reliable()) {
            return "no reliable connections over rdma_cm (transport " + device.transport() + ")";
        }
        return device.transport()
                + (device.firmware().isEmpty() ? "" : ", firmware " + device.firmware())
                + device.ports().stream().map(DeviceCheck::describe).collect(Collectors.joining());
    }

    private static String describe(DeviceFacts.Port port) {
        PortAttributes attributes = port.attributes();
        String gids = port.gids().stream()
                .map(gid -> gid.index() + " " + gid.type() + " " + gid.address().getHostAddress())
                .collect(Collectors.joining(", "));
        return String.format(
                Locale.ROOT,
                "%nport %d: %s, %s%s, %.0f Gb/s, MTU %d, addresses %s, GIDs [%s]",
                attributes.number(),
                attributes.active() ? "active" : "NOT ACTIVE",
                attributes.ethernet() ? "Ethernet" : "InfiniBand",
                port.network().isEmpty() ? "" : " (" + port.network() + ")",
                attributes.gigabitsPerSecond(),
                attributes.activeMtuBytes(),
                port.addresses(),
                gids);
    }

    /** Returns the remedy if no port is usable: for the first missing condition. */
    static String remedy(List<String> kernelDevices, List<DeviceFacts> devices, Settings settings) {
        if (kernelDevices.isEmpty()) {
            return "none without an RDMA card; with one, load its driver (rdma link shows its devices)";
        }
        if (devices.isEmpty()) {
            return "let this user, in this container, see and open /dev/infiniband/uverbs* and rdma_cm, install the"
                    + " provider of " + String.join(", ", kernelDevices) + " (Debian: ibverbs-providers), and load the"
                    + " modules ib_uverbs and rdma_ucm";
        }
        List<DeviceFacts> open =
                devices.stream().filter(device -> device.problem().isEmpty()).toList();
        if (open.isEmpty()) {
            return "allow this user to open /dev/infiniband/uverbs* and /dev/infiniband/rdma_cm";
        }
        List<DeviceFacts> reliable = open.stream().filter(DeviceFacts::reliable).toList();
        if (reliable.isEmpty()) {
            return "none on this device: it has no reliable connections over rdma_cm; use another kind of device";
        }
        return remedyOfPorts(reliable, settings);
    }

    private static String remedyOfPorts(List<DeviceFacts> reliable, Settings settings) {
        List<DeviceFacts.Port> ports =
                reliable.stream().flatMap(device -> device.ports().stream()).toList();
        List<DeviceFacts.Port> active =
                ports.stream().filter(port -> port.attributes().active()).toList();
        if (active.isEmpty()) {
            return "bring the link of a port up: rdma link; ip link set " + network(ports)
                    + " up; cable and switch; on InfiniBand a subnet manager";
        }
        if (active.stream().allMatch(port -> port.addresses().isEmpty())) {
            return "give the network interface of a port an IP address: ip addr add ADDRESS/PREFIX dev "
                    + network(active) + "; on InfiniBand that is IPoIB's";
        }
        return PortSelector.parse(settings.config().get(VerbsConfig.DEVICES)).isEmpty()
                ? "load the modules ib_uverbs and rdma_ucm, and allow this user to open /dev/infiniband/rdma_cm"
                : "set spark.shuffle.rdma.fabric.verbs.devices=auto, or to ports that are listed above";
    }

    private static String network(List<DeviceFacts.Port> ports) {
        return ports.stream()
                .map(DeviceFacts.Port::network)
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElse("INTERFACE");
    }

    private static List<String> texts(List<LocalPort> ports) {
        return ports.stream().map(LocalPort::toString).toList();
    }
}
