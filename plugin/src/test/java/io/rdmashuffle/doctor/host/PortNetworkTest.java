// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.doctor.host;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
class PortNetworkTest {
    private static final String PORT = "sys/class/infiniband/siw0/ports/1/";

    @TempDir
    Path root;

    private void file(String path, String content) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, content + "\n");
    }

    @BeforeEach
    void interfaces() throws IOException {
        file("sys/class/net/lo/address", "00:00:00:00:00:00");
        file("sys/class/net/veth0/address", "8a:07:ae:94:50:b4");
    }

    private String found() {
        return PortNetwork.of(new HostFiles(root), "siw0", 1);
    }

    @Test
    void onEthernetTheFirstIdentifierNamesIt() throws IOException {
        file(PORT + "gid_attrs/ndevs/0", "eth7");
        file(PORT + "gids/0", "8a07:ae94:50b4:0000:0000:0000:0000:0000");
        assertThat(found()).isEqualTo("eth7");
    }

    @Test
    void onIwarpTheFirstIdentifierIsItsHardwareAddress() throws IOException {
        file(PORT + "gids/0", "8a07:ae94:50b4:0000:0000:0000:0000:0000");
        assertThat(found()).isEqualTo("veth0");
        file(PORT + "gids/0", "fe80:0000:0000:0000:0002:c903:00ee:7e9d");
        assertThat(found()).isEmpty();
    }

    @Test
    void unknownInterfaceHasNoName() {
        assertThat(found()).isEmpty();
    }
}
