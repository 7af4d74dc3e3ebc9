// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.ofi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The provider of libfabric that a kernel's devices ask for. */
@Tag("unit")
class KernelDevicesTest {
    @TempDir
    Path sysfs;

    /** Adds a device of InfiniBand's class as the kernel shows it, its driver behind a link. */
    private void device(String name, String driver) throws IOException {
        Path target = Files.createDirectories(sysfs.resolve("bus/pci/drivers").resolve(driver));
        Path device = Files.createDirectories(sysfs.resolve("class/infiniband").resolve(name));
        Files.createSymbolicLink(Files.createDirectory(device.resolve("device")).resolve("driver"), target);
    }

    @Test
    void noneAsksForNone() throws Exception {
        assertThat(KernelDevices.provider(sysfs)).isEmpty();
        Files.createDirectories(sysfs.resolve("class/cxi_user"));
        device("mlx5_0", "mlx5_core");
        assertThat(KernelDevices.provider(sysfs)).isEmpty();
    }

    @Test
    void efaIsFoundByItsDriver() throws Exception {
        device("rdmap0s6", "efa");
        assertThat(KernelDevices.provider(sysfs)).contains("efa");
    }

    /** Soft-RoCE is such a device. */
    @Test
    void efaIsFoundBesideADeviceWithoutDriver() throws Exception {
        Files.createDirectories(sysfs.resolve("class/infiniband/rxe0"));
        device("rdmap0s6", "efa");
        assertThat(KernelDevices.provider(sysfs)).contains("efa");
    }

    @Test
    void slingshotIsFoundByItsClass() throws Exception {
        Files.createDirectories(sysfs.resolve("class/cxi_user/cxi0"));
        assertThat(KernelDevices.provider(sysfs)).contains("cxi");
    }
}
