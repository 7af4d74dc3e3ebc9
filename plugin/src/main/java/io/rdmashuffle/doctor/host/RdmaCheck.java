// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.conf.VerbsConfig;
import io.rdmashuffle.doctor.report.Effect;
import io.rdmashuffle.doctor.report.Finding;
import io.rdmashuffle.fabric.ReadTimes;
import io.rdmashuffle.fabric.verbs.device.LocalPort;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Check whether this machine has RDMA that an executor would use: libraries, devices, ports, GIDs, a READ.
 *
 * <p><b>Threading:</b> of one thread.
 */
final class RdmaCheck {
    private static final String LIBRARIES = "libraries";
    private static final String PORTS = "ports";
    static final String READ = "loopback-read";
    private static final String PEER = "peer";
    /** Features that the verbs layer can do without. */
    private static final Set<String> DISPENSABLE = Set.of("_ibv_query_gid_table");

    private static final double GIGABYTE = 1e9;
    private static final double MICROSECOND = 1e3;

    private final Host host;
    private final List<Finding> findings = new ArrayList<>();

    private RdmaCheck(Host host) {
        this.host = host;
    }

    static List<Finding> run(Host host, Settings settings) {
        RdmaCheck check = new RdmaCheck(host);
        List<DeviceFacts> devices = List.of();
        List<LocalPort> ports = List.of();
        if (check.libraries()) {
            try {
                devices = host.rdma().devices();
                ports = host.rdma().choose(PortSelector.parse(settings.config().get(VerbsConfig.DEVICES)));
                check.findings.addAll(DeviceCheck.used(devices, ports, host.files()));
            } catch (RdmaUnavailableException e) {
                String remedy = DeviceCheck.remedy(host.rdma().kernelDevices(), devices, settings);
                check.findings.addAll(DeviceCheck.unused(devices));
                check.findings.add(Finding.wrong(PORTS, Effect.NO_RDMA, check.reason(e), remedy)
                        .with("kernelDevices", host.rdma().kernelDevices()));
            }
        }
        check.findings.add(LockedMemoryCheck.run(host, settings, devices, ports));
        check.read(ports);
        for (String peer : settings.peers()) {
            check.reach(ports, peer);
        }
        return check.findings;
    }

    /** A kernel without RDMA has an error of its own for each call. */
    private String reason(RdmaUnavailableException e) {
        String none = "this machine has no RDMA device";
        String message = String.valueOf(e.getMessage());
        return host.rdma().kernelDevices().isEmpty() && !message.contains(none) ? none + " (" + message + ")" : message;
    }

    /** Returns whether both libraries are there, and complete. */
    private boolean libraries() {
        boolean complete = true;
        for (LibraryFacts library : host.rdma().libraries()) {
            List<String> needed = library.missing().stream()
                    .filter(function -> !DISPENSABLE.contains(function))
                    .toList();
            boolean usable = library.problem().isEmpty() && needed.isEmpty();
            findings.add(finding(library, needed)
                    .with("library", library.soname())
                    .with("file", library.file())
                    .with("missing", library.missing()));
            complete &= usable;
        }
        return complete;
    }

    private static Finding finding(LibraryFacts library, List<String> needed) {
        if (!library.problem().isEmpty()) {
            return Finding.wrong(
                    LIBRARIES,
                    Effect.NO_RDMA,
                    library.problem().lines().findFirst().orElse(""),
                    "install rdma-core (Debian, Ubuntu: librdmacm1 ibverbs-providers; RHEL: librdmacm libibverbs)"
                            + " in the image or on the host that executors run in; without an RDMA card nothing needs"
                            + " to be done");
        }
        if (!needed.isEmpty()) {
            return Finding.wrong(
                    LIBRARIES,
                    Effect.NO_RDMA,
                    library.soname() + " (" + library.file() + ") lacks " + String.join(", ", needed),
                    "install rdma-core 23 or newer");
        }
        return Finding.ok(
                LIBRARIES,
                library.soname() + " is " + (library.file().isEmpty() ? "loaded" : library.file())
                        + (library.missing().isEmpty()
                                ? ""
                                : ", without " + String.join(", ", library.missing()) + ", which is not needed"));
    }

    /** A peer has its addresses in the networks of some of the ports; one of them must lead there. */
    private void reach(List<LocalPort> ports, String peer) {
        List<String> failures = new ArrayList<>();
        for (LocalPort port : ports) {
            try {
                host.rdma().reach(port, peer);
                findings.add(Finding.ok(PEER, peer + " answers over " + port)
                        .with("peer", peer)
                        .with("port", port.toString()));
                return;
            } catch (NativeException | IOException | RdmaUnavailableException | IllegalStateException e) {
                failures.add(peer + " does not answer over " + port + ": " + e.getMessage());
            }
        }
        findings.add(Finding.wrong(
                        PEER,
                        Effect.LESS,
                        failures.isEmpty()
                                ? peer + " cannot be asked: no RDMA port is used"
                                : String.join("\n", failures),
                        "check that it is the address of an active RDMA port there (rdma link; ip addr), that ping"
                                + " reaches it from a port's address, that firewalls let UDP port 4791 pass (RoCE v2),"
                                + " and rping between the two")
                .with("peer", peer));
    }

    /** Some cards cannot connect to themselves; executors use the other ports. */
    private void read(List<LocalPort> ports) {
        List<Finding> made = ports.stream().map(this::read).toList();
        boolean anyReads = made.stream().anyMatch(finding -> finding.effect() == Effect.NONE);
        made.forEach(finding -> findings.add(anyReads ? finding.atMost(Effect.LESS) : finding));
    }

    private Finding read(LocalPort port) {
        String message;
        try {
            ReadTimes times = host.rdma().read(port);
            return Finding.ok(
                            READ,
                            String.format(
                                    Locale.ROOT,
                                    "a READ over %s brings the right bytes; 4 KiB take %.1f us, 256 KiB at a time run"
                                            + " at %.2f GB/s",
                                    port,
                                    times.medianNanos() / MICROSECOND,
                                    times.bytesPerSecond() / GIGABYTE))
                    .with("port", port.toString())
                    .with("medianMicros", times.medianNanos() / MICROSECOND)
                    .with("bytesPerSecond", Math.round(times.bytesPerSecond()));
        } catch (NativeException | IOException | RdmaUnavailableException | IllegalStateException e) {
            message = String.valueOf(e.getMessage());
        }
        return Finding.wrong(
                        READ,
                        Effect.NO_RDMA,
                        "no READ over " + port + ": " + message,
                        message.contains("ENOMEM")
                                ? "raise the limit of locked memory, see locked-memory"
                                : "try rping -s -a ADDRESS and rping -c -a ADDRESS (rdmacm-utils), the port's;"
                                        + " if that fails too it is the device's set-up: firewall (UDP port 4791),"
                                        + " driver, dmesg")
                .with("port", port.toString());
    }
}
