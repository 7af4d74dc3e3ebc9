// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.memory.FileIdentity;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Tag("unit")
@Timeout(60)
@ExtendWith(LeakCheck.class)
class ShmAddressTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private Node node;

    @BeforeEach
    void open() {
        node = new Node(directory, new ShmFabric(1, 1 << 20, true));
    }

    @AfterEach
    void close() {
        node.close();
    }

    private ShmAddress own() throws PeerUnreachableException {
        return ShmAddress.decode(node.fabric().localAddress());
    }

    @Test
    void survivesEncoding() throws Exception {
        ShmAddress address = own();
        assertThat(ShmAddress.decode(address.encode())).isEqualTo(address);
        assertThat(address.file(3).toString()).endsWith(".3").startsWith(directory.toString());
    }

    @Test
    void anotherBootIdIsAnotherHost() throws Exception {
        ShmAddress foreign = new ShmAddress(UUID.randomUUID(), own().region0(), own().stem(), ShmDisk.NONE);
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("executor 9")
                .hasMessageContaining("another host");
    }

    @Test
    void anotherFileUnderTheSamePathIsAnotherMount() throws Exception {
        FileIdentity real = own().region0();
        ShmAddress foreign = new ShmAddress(
                own().bootId(), new FileIdentity(real.device() + 1, real.inode()), own().stem(), ShmDisk.NONE);
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("common mount");
    }

    @Test
    void aPathThatIsNotThereNamesTheMount() throws Exception {
        ShmAddress foreign = new ShmAddress(own().bootId(), own().region0(), directory + "/elsewhere", ShmDisk.NONE);
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("not shared with us");
    }

    @Test
    void aPathThatNoFileCanHaveIsRefused() throws Exception {
        ShmAddress foreign = new ShmAddress(own().bootId(), own().region0(), directory + "/a\0b", ShmDisk.NONE);
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class);
    }

    @Test
    void itsOwnAddressIsReachable() throws Exception {
        try (Peer peer = node.connect(node)) {
            assertThat(peer.openRegions()).isZero();
        }
    }
}
