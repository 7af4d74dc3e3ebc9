// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.ffi.LibC;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.PeerFiles;
import io.rdmashuffle.memory.ShmTempDirs;
import io.rdmashuffle.memory.slice.FileIdentity;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.UUID;
import java.util.zip.CRC32C;
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

    private ShmAddress address(PeerFiles files) throws PeerUnreachableException {
        return new ShmAddress(own().bootId(), files, ShmDisk.NONE);
    }

    private PeerFiles at(String path) throws PeerUnreachableException {
        PeerFiles real = own().files();
        return new PeerFiles(Path.of(path), real.uid(), real.region0(), real.region0Bytes());
    }

    @Test
    void survivesEncoding() throws Exception {
        ShmAddress address = own();
        assertThat(ShmAddress.decode(address.encode()).encode()).isEqualTo(address.encode());
        assertThat(address.files().directory()).hasParentRaw(directory);
        assertThat(address.files().region0Bytes()).isEqualTo(Node.REGION_BYTES);
        assertThat(address.files().uid()).isEqualTo(LibC.load().geteuid());
    }

    @Test
    void anotherBootIdIsAnotherHost() throws Exception {
        ShmAddress foreign = new ShmAddress(UUID.randomUUID(), own().files(), ShmDisk.NONE);
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("executor 9")
                .hasMessageContaining("another host");
    }

    @Test
    void anotherFileUnderTheSamePathIsAnotherMount() throws Exception {
        PeerFiles real = own().files();
        FileIdentity otherDevice =
                new FileIdentity(real.region0().device() + 1, real.region0().inode());
        ShmAddress foreign = address(new PeerFiles(real.directory(), real.uid(), otherDevice, real.region0Bytes()));
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("common mount");
    }

    @Test
    void aPathThatIsNotThereNamesTheMount() throws Exception {
        ShmAddress foreign = address(at(directory + "/elsewhere"));
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("not shared with us");
    }

    @Test
    void aPathThatNoFileCanHaveIsRefused() throws Exception {
        byte[] encoded = address(at("/dev/shm/AAAA")).encode();
        encoded[50 + "/dev/shm/A".length()] = 0;
        CRC32C crc = new CRC32C();
        crc.update(encoded, 0, encoded.length - 4);
        ByteBuffer.wrap(encoded).order(ByteOrder.LITTLE_ENDIAN).putInt(encoded.length - 4, (int) crc.getValue());
        assertThatThrownBy(() -> node.fabric().connect("9", encoded)).isInstanceOf(PeerUnreachableException.class);
    }

    @Test
    void refusesThePoolOfAnotherUser() throws Exception {
        PeerFiles real = own().files();
        ShmAddress foreign =
                address(new PeerFiles(real.directory(), real.uid() + 1, real.region0(), real.region0Bytes()));
        assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("only user " + (real.uid() + 1) + " may enter");
    }

    @Test
    void refusesALengthThatWasNotAnnounced() throws Exception {
        PeerFiles real = own().files();
        for (long bytes : new long[] {0, -1, real.region0Bytes() + 1, Long.MAX_VALUE}) {
            ShmAddress foreign = address(new PeerFiles(real.directory(), real.uid(), real.region0(), bytes));
            assertThatThrownBy(() -> node.fabric().connect("9", foreign.encode()))
                    .isInstanceOf(PeerUnreachableException.class);
        }
    }

    @Test
    void refusesADirectoryThatOthersMayEnter() throws Exception {
        Files.setPosixFilePermissions(own().files().directory(), PosixFilePermissions.fromString("rwx--x---"));
        assertThatThrownBy(() -> node.connect(node))
                .isInstanceOf(PeerUnreachableException.class)
                .hasMessageContaining("may enter");
    }

    @Test
    void refusesRegionsThatWereTamperedWith() throws Exception {
        Path region0 = node.pool().regions().get(0).file();
        Path other = Files.createFile(directory.resolve("other"));
        Files.createLink(directory.resolve("link"), region0);
        assertUnproven("a second name");
        Files.delete(directory.resolve("link"));
        Files.setPosixFilePermissions(region0, PosixFilePermissions.fromString("rw-r-----"));
        assertUnproven("readable by others");
        Files.delete(region0);
        Files.createSymbolicLink(region0, other);
        assertUnproven("a symbolic link");
        Files.delete(region0);
        Files.move(other, region0);
        assertUnproven("another file");
    }

    private void assertUnproven(String what) {
        assertThatThrownBy(() -> node.connect(node)).as(what).isInstanceOf(PeerUnreachableException.class);
    }

    @Test
    void itsOwnAddressIsReachable() throws Exception {
        try (Peer peer = node.connect(node)) {
            assertThat(peer.openRegions()).isZero();
        }
    }
}
