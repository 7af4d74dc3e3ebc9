// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.verbs.device;

import io.rdmashuffle.conf.PortSelector;
import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.Context;
import io.rdmashuffle.verbs.DeviceList;
import io.rdmashuffle.verbs.EventChannel;
import io.rdmashuffle.verbs.LocalAddress;
import io.rdmashuffle.verbs.PortAttributes;
import io.rdmashuffle.verbs.RdmaUnavailableException;
import io.rdmashuffle.verbs.Transport;
import io.rdmashuffle.verbs.VerbsLibrary;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Search for usable ports of this machine, with the reason if there is none.
 *
 * <p><b>Threading:</b> of one thread.
 *
 * <p><b>Ownership:</b> closes everything that it opens.
 */
public final class PortFinder {
    private final VerbsLibrary library;
    private final EventChannel channel;
    private final List<InetAddress> addresses;
    private final List<String> kernelDevices;
    private final List<String> refusals = new ArrayList<>();

    /** Searches for ports at every address of this machine. */
    public PortFinder(VerbsLibrary library, EventChannel channel) {
        this(library, channel, LocalAddress.ofThisMachine(), DeviceList.ofKernel());
    }

    PortFinder(VerbsLibrary library, EventChannel channel, List<InetAddress> addresses, List<String> kernelDevices) {
        this.library = library;
        this.channel = channel;
        this.addresses = addresses;
        this.kernelDevices = kernelDevices;
    }

    /**
     * Finds the ports to use.
     *
     * @param selectors which to use, in this order; empty for the best active one
     * @throws RdmaUnavailableException if there is none, or one that was asked for is not there or not active
     */
    public List<LocalPort> choose(List<PortSelector> selectors) throws RdmaUnavailableException {
        List<LocalPort> all = find();
        List<LocalPort> active = all.stream()
                .filter(port -> port.attributes().active())
                .sorted(LocalPort.BEST_FIRST)
                .toList();
        if (active.isEmpty()) {
            throw new RdmaUnavailableException(
                    all.isEmpty() ? whyNone() : "no RDMA port is active: " + join(all.stream()));
        }
        if (selectors.isEmpty()) {
            return active.subList(0, 1);
        }
        List<LocalPort> chosen = new ArrayList<>();
        for (PortSelector selector : selectors) {
            chosen.add(active.stream()
                    .filter(port -> port.matches(selector))
                    .findFirst()
                    .map(port -> port.as(selector))
                    .orElseThrow(() -> new RdmaUnavailableException("there is no active port " + selector + " with an"
                            + " address, but " + join(active.stream())
                            + " (spark.shuffle.rdma.fabric.verbs.devices)")));
        }
        return chosen;
    }

    /** Tries every address: an address to which an id can be bound belongs to an RDMA device. */
    private List<LocalPort> find() {
        List<LocalPort> ports = new ArrayList<>();
        for (InetAddress address : addresses) {
            try {
                ports.add(LocalPort.of(LocalAddress.at(channel, address)));
            } catch (NativeException e) {
                // The answer for the address of an ordinary network card.
                if (!Errno.ENODEV.is(e.errno())) {
                    refusals.add(String.valueOf(e.getMessage()));
                }
            }
        }
        return ports;
    }

    private String whyNone() {
        List<String> reasons = new ArrayList<>();
        try (DeviceList list = DeviceList.read(library)) {
            if (list.devices().isEmpty()) {
                reasons.add(whyNoDevice());
            }
            list.devices().forEach(device -> reasons.add(whyNot(device)));
        } catch (NativeException e) {
            reasons.add(String.valueOf(e.getMessage()));
        }
        reasons.addAll(refusals);
        return join(reasons.stream().distinct());
    }

    /** Of a device whose node below /dev is missing, libibverbs says nothing at all. */
    private String whyNoDevice() {
        return kernelDevices.isEmpty()
                ? "this machine has no RDMA device"
                : "the kernel has " + join(kernelDevices.stream())
                        + ", which libibverbs does not see: install its provider"
                        + " (Debian: ibverbs-providers), and let this container see /dev/infiniband";
    }

    private static String whyNot(DeviceList.Device device) {
        try (Context context = device.open()) {
            Transport transport = context.transport();
            if (transport != Transport.INFINIBAND && transport != Transport.IWARP) {
                return device.name() + " has no reliable connections over rdma_cm (transport " + transport
                        + ", as Amazon's EFA)";
            }
            List<String> states = new ArrayList<>();
            for (int port = 1; port <= context.limits().ports(); port++) {
                PortAttributes attributes = context.port(port);
                states.add("port " + port + (attributes.active() ? " has no IP address" : " is not active"));
            }
            return device.name() + ": " + join(states.stream());
        } catch (NativeException e) {
            return device.name() + ": " + e.getMessage();
        }
    }

    private static String join(Stream<?> parts) {
        return parts.map(Object::toString).collect(Collectors.joining(", "));
    }
}
