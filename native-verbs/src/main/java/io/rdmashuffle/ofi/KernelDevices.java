// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Devices of this kernel that only libfabric can use.
 *
 * <p><b>Threading:</b> stateless.
 *
 * <p><b>Source:</b> drivers/infiniband/hw/efa of the kernel; libcxi.
 */
public final class KernelDevices {
    private static final Path SYSFS = Path.of("/sys");

    private KernelDevices() {}

    /** {@return the provider of these devices: {@code efa}, {@code cxi} (Slingshot), or empty if there are none} */
    public static Optional<String> provider() {
        return provider(SYSFS);
    }

    static Optional<String> provider(Path sysfs) {
        Path devices = sysfs.resolve("class/infiniband");
        if (entries(devices).anyMatch(name -> isEfa(devices.resolve(name).resolve("device/driver")))) {
            return Optional.of("efa");
        }
        return entries(sysfs.resolve("class/cxi_user")).findAny().isPresent() ? Optional.of("cxi") : Optional.empty();
    }

    private static Stream<String> entries(Path folder) {
        String[] names = folder.toFile().list();
        return names == null ? Stream.empty() : Stream.of(names);
    }

    /** Devices in software have no driver, and one that is removed now has none any more. */
    private static boolean isEfa(Path driver) {
        try {
            return driver.toRealPath().endsWith("efa");
        } catch (IOException e) {
            return false;
        }
    }
}
