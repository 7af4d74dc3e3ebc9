// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.ffi.Requirements;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.Objects;
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

    /** Opens the device; the caller closes it. */
    Context open() {
        try (DeviceList list = DeviceList.read(library)) {
            return list.devices().stream()
                    .filter(each -> each.name().equals(name))
                    .findFirst()
                    .orElseThrow()
                    .open();
        }
    }

    /** Returns the row of the address in the table of GIDs, of RoCE v2 if there is a choice. */
    public int gidIndex() {
        try (Context context = open()) {
            return Objects.requireNonNull(DirectPairs.attributes(context, this).gid())
                    .index();
        }
    }

    /** Returns what the device says that it can do. */
    public DeviceLimits limits() {
        try (Context context = open()) {
            return context.limits();
        }
    }

    /** Returns whether the device speaks iWARP. */
    public boolean iwarp() {
        try (Context context = open()) {
            return context.transport() == Transport.IWARP;
        }
    }

    /** Returns whether the device is one of a driver, such as rxe or siw. */
    public boolean isOf(String driver) {
        return driver().equals(driver);
    }

    private String driver() {
        return name.replaceFirst("_?\\d+$", "");
    }

    /** Skips a test of a feature that iWARP lacks. */
    public void assumeInfiniBand(String what) {
        Assumptions.assumeFalse(iwarp(), () -> "iWARP does not have " + what);
    }

    /** Skips a test of something that this device does not have; never a failure. */
    public void assume(boolean supported, String what) {
        Assumptions.assumeTrue(supported, () -> driver() + " does not have " + what);
    }
}
