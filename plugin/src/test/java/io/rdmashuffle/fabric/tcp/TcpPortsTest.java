// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpSettings.Ports;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ports and addresses that a process listens on. */
@Timeout(60)
@ExtendWith(LeakCheck.class)
class TcpPortsTest {
    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private static TcpFabric fabric(String host, Ports ports) {
        return new TcpFabric(new TcpSettings(
                () -> host,
                ports,
                1,
                Duration.ofSeconds(10),
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                1 << 20,
                Secret.NONE));
    }

    @Test
    void portsFollowOneAnotherAndWrap() {
        Ports ports = new Ports(65_534, 16);
        assertThat(ports.ofAttempt(0)).isEqualTo(65_534);
        assertThat(ports.ofAttempt(1)).isEqualTo(65_535);
        assertThat(ports.ofAttempt(2)).isEqualTo(1024);
        assertThat(Ports.ANY.ofAttempt(3)).isZero();
    }

    @Test
    void nextPortIsUsedWhereOneIsTaken() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                TcpFabric fabric = fabric(TestTcp.HOST, new Ports(taken.getLocalPort(), 100))) {
            int port = TcpAddress.decode(fabric.localAddress()).port();
            assertThat(port).isNotZero().isNotEqualTo(taken.getLocalPort());
            assertThat(TcpAddress.decode(fabric.localAddress()).port()).isEqualTo(port);
        }
    }

    @Test
    void peersLearnThatNoPortCouldBeOpened() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                TcpFabric fabric = fabric(TestTcp.HOST, new Ports(taken.getLocalPort(), 0));
                TcpFabric reader = fabric(TestTcp.HOST, Ports.ANY)) {
            byte[] address = fabric.localAddress();
            assertThatThrownBy(() -> reader.connect("7", address))
                    .isInstanceOf(PeerUnreachableException.class)
                    .hasMessageContaining("could not open a TCP port");
        }
    }

    @Test
    void hostThatIsNotOfThisMachineIsAnnouncedAllTheSame() throws Exception {
        // An address of the documentation's network, as one behind address translation would be.
        try (TcpFabric fabric = fabric("192.0.2.7", Ports.ANY)) {
            TcpAddress address = TcpAddress.decode(fabric.localAddress());
            assertThat(address.host()).isEqualTo("192.0.2.7");
            assertThat(address.port()).isNotZero();
        }
    }

    /** Spark writes literal addresses of IPv6 in brackets. */
    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "[::1]", "::1"})
    void hostsOfBothFamiliesAreReadFrom(String host) throws Exception {
        assumeTrue(NetworkInterface.getByInetAddress(InetAddress.getByName(host)) != null, "no such address here");
        try (ReadFixture fixture = new ReadFixture(directory)) {
            Node owner = fixture.node(fabric(host, Ports.ANY));
            Node reader = fixture.node(fabric(host, Ports.ANY));
            Lease lease = fixture.data(owner);
            try (Peer peer = reader.connect(owner)) {
                ReadFixture.assertReadable(reader, peer, lease);
            }
        }
    }

    /** As of a name that each host also gives to itself, or of a network that is not routed. */
    @Test
    void nextAddressOfAPeerIsTriedWhereOneDoesNotConnect() throws Exception {
        TcpSettings settings = TestTcp.settings(1, 1 << 20, Secret.NONE);
        InFlightReads reads = new InFlightReads(1 << 20);
        List<InetAddress> hosts =
                List.of(InetAddress.getByAddress(new byte[] {127, 0, 0, 9}), InetAddress.getLoopbackAddress());
        try (ReadFixture fixture = new ReadFixture(directory);
                ReadLoop loop = new ReadLoop("test-tcp-read", settings, reads)) {
            Node owner = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            Node reader = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            Lease lease = fixture.data(owner);
            TcpAddress address = TcpAddress.decode(owner.fabric().localAddress());
            try (Peer peer = new TcpPeer("peer", 1, address, hosts, List.of(loop), reads)) {
                ReadFixture.assertReadable(reader, peer, lease);
            }
        }
    }

    @Test
    void hostThatCannotBeResolvedIsUnreachable() throws Exception {
        byte[] address = new TcpAddress(1, "no-such-host.invalid", 4000, 0).encode();
        try (TcpFabric reader = fabric(TestTcp.HOST, Ports.ANY)) {
            assertThatThrownBy(() -> reader.connect("7", address))
                    .isInstanceOf(PeerUnreachableException.class)
                    .hasMessageContaining("no-such-host.invalid");
        }
    }
}
