// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
class LinkSpeedTest {
    @TempDir
    Path interfaces;

    private Path add(String name, String speed) throws IOException {
        Path directory = Files.createDirectory(interfaces.resolve(name));
        Files.writeString(directory.resolve("speed"), speed);
        return directory;
    }

    @Test
    void hardwareAndBondsReportTheirSpeed() throws Exception {
        Files.createDirectory(add("eth0", "25000\n").resolve("device"));
        Files.createDirectory(add("bond0", "200000\n").resolve("bonding"));
        assertThat(LinkSpeed.ofInterface(interfaces, "eth0")).isEqualTo(25_000);
        assertThat(LinkSpeed.ofInterface(interfaces, "bond0")).isEqualTo(200_000);
    }

    /** Both ends of a pod's interface say 10 Gb/s. */
    @Test
    void virtualInterfacesAreNotBelieved() throws Exception {
        Path unused = add("veth0", "10000\n");
        assertThat(LinkSpeed.ofInterface(interfaces, "veth0")).isZero();
    }

    @Test
    void aDriverThatDoesNotKnowIsNoFailure() throws Exception {
        Files.createDirectory(add("eth0", "-1\n").resolve("device"));
        Files.createDirectory(add("eth1", "").resolve("device"));
        Files.createDirectories(interfaces.resolve("eth2").resolve("device"));
        assertThat(LinkSpeed.ofInterface(interfaces, "eth0")).isZero();
        assertThat(LinkSpeed.ofInterface(interfaces, "eth1")).isZero();
        assertThat(LinkSpeed.ofInterface(interfaces, "eth2")).isZero();
        assertThat(LinkSpeed.ofInterface(interfaces, "eth3")).isZero();
    }

    @Test
    void theLoopbackDeviceHasNone() {
        assertThat(LinkSpeed.ofHost("localhost")).isZero();
        assertThat(LinkSpeed.ofHost("no-such-host.invalid")).isZero();
    }
}
