// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.Requirements;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;

/**
 * The RDMA device that tests run on: the first with an active port that has an IPv4 address. Without one the test is
 * skipped with the reason, or fails with {@code REQUIRE_RDMA=1}.
 */
public record RdmaTestDevice(VerbsLibrary library, String name, InetAddress address) {
    /** Returns the device, or skips the test. */
    public static RdmaTestDevice require() {
        try {
            VerbsLibrary library = VerbsLibrary.load();
            Optional<RdmaTestDevice> found = find(library);
            Requirements.require(
                    found.isPresent(), "no RDMA device with an active port and an IPv4 address (rdma link)");
            return found.orElseThrow();
        } catch (RdmaUnavailableException | NativeException e) {
            Requirements.require(false, "no RDMA here: " + e.getMessage());
            throw new AssertionError("skipped or failed above", e);
        }
    }

    private static Optional<RdmaTestDevice> find(VerbsLibrary library) {
        try (EventChannel channel = EventChannel.open(library)) {
            return LocalAddress.find(channel).stream()
                    .filter(local -> local.port().active() && local.address() instanceof Inet4Address)
                    .min(Comparator.comparing(LocalAddress::deviceName))
                    .map(local -> new RdmaTestDevice(library, local.deviceName(), local.address()));
        }
    }

    /** Skips a test of what iWARP does not have. */
    public void assumeInfiniBand(String what) {
        try (DeviceList list = DeviceList.read(library)) {
            for (DeviceList.Device device : list.devices()) {
                try (Context context = device.open()) {
                    boolean iwarp = device.name().equals(name) && context.transport() == Transport.IWARP;
                    Assumptions.assumeFalse(iwarp, () -> "iWARP does not have " + what);
                }
            }
        }
    }

    /** Skips a test of something that this device does not have; never a failure. */
    public static void assume(boolean supported, String what) {
        Assumptions.assumeTrue(supported, () -> "the device does not support " + what);
    }
}
