// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.fabric.InFlightReads;
import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.PeerUnreachableException;
import io.rdmashuffle.fabric.ReadFailedException.Reason;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fabric.tcp.TcpSettings.Host;
import io.rdmashuffle.fabric.tcp.TcpSettings.Ports;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
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
    private static final InetAddress OTHER = new InetSocketAddress("127.0.0.9", 0).getAddress();

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private static TcpFabric fabric(String host, Ports ports) {
        return new TcpFabric(settings(host, ports, Duration.ofSeconds(10)));
    }

    private static TcpSettings settings(String host, Ports ports, Duration connectTimeout) {
        return settings(Host.of(host), ports, connectTimeout);
    }

    private static TcpSettings settings(Host host, Ports ports, Duration connectTimeout) {
        return new TcpSettings(
                () -> host,
                ports,
                1,
                connectTimeout,
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                1 << 20,
                Secret.NONE);
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

    /** As {@code --bind-address} has it, whatever address is announced. */
    @Test
    void listensAtTheBoundAddressAlone() throws Exception {
        Host host = new Host("192.0.2.7", "127.0.0.1");
        try (TcpFabric fabric = new TcpFabric(settings(host, Ports.ANY, Duration.ofSeconds(10)))) {
            TcpAddress address = TcpAddress.decode(fabric.localAddress());
            assertThat(address.host()).isEqualTo("192.0.2.7");
            new Socket(InetAddress.getLoopbackAddress(), address.port()).close();
            assertThatThrownBy(() -> new Socket(OTHER, address.port()).close()).isInstanceOf(ConnectException.class);
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
        assertReadFromTheSecondAddress(port -> () -> {});
    }

    /** As a proxy does that cannot reach the peer. */
    @Test
    void nextAddressIsTriedAfterASilentOne() throws Exception {
        assertReadFromTheSecondAddress(port -> new ServerSocket(port, 1, OTHER));
    }

    /** Server at the first address, on the port of the peer. */
    private interface First {
        Closeable listen(int port) throws IOException;
    }

    private void assertReadFromTheSecondAddress(First first) throws Exception {
        TcpSettings settings = settings(TestTcp.HOST, Ports.ANY, Duration.ofSeconds(4));
        InFlightReads reads = new InFlightReads(1 << 20);
        List<InetAddress> hosts = List.of(OTHER, InetAddress.getLoopbackAddress());
        try (ReadFixture fixture = new ReadFixture(directory);
                ReadLoop loop = new ReadLoop("test-tcp-read", settings, reads)) {
            Node owner = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            Node reader = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            Lease lease = fixture.data(owner);
            TcpAddress address = TcpAddress.decode(owner.fabric().localAddress());
            Closeable listening = first.listen(address.port());
            try (listening;
                    Peer peer = new TcpPeer("peer", 1, address, hosts, List.of(loop), reads)) {
                ReadFixture.assertReadable(reader, peer, lease);
            }
        }
    }

    /** Several bind a socket to the first port, and only listen(2) tells all but one that the port is taken. */
    @Test
    void executorsThatStartAtOnceTakePortsOfTheirOwn() throws Exception {
        int first;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            first = free.getLocalPort();
        }
        ExecutorService starters = Executors.newFixedThreadPool(4);
        try {
            for (int round = 0; round < 200; round++) {
                CyclicBarrier start = new CyclicBarrier(4);
                List<Future<TcpFabric>> started = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    started.add(starters.submit(() -> {
                        TcpFabric fabric = fabric(TestTcp.HOST, new Ports(first, 100));
                        start.await(30, TimeUnit.SECONDS);
                        fabric.localAddress();
                        return fabric;
                    }));
                }
                Set<Integer> ports = new HashSet<>();
                List<TcpFabric> fabrics = new ArrayList<>();
                for (Future<TcpFabric> future : started) {
                    fabrics.add(future.get(30, TimeUnit.SECONDS));
                }
                for (TcpFabric fabric : fabrics) {
                    ports.add(TcpAddress.decode(fabric.localAddress()).port());
                }
                fabrics.forEach(TcpFabric::close);
                assertThat(ports).hasSize(4).doesNotContain(0);
            }
        } finally {
            starters.shutdownNow();
        }
    }

    /** The tab shows by what peers are reached. */
    @Test
    void peerWhosePortRefusesIsNotReachable() throws Exception {
        try (ReadFixture fixture = new ReadFixture(directory)) {
            Node owner = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            Node reader = fixture.node(fabric(TestTcp.HOST, Ports.ANY));
            TcpAddress truth = TcpAddress.decode(owner.fabric().localAddress());
            int closed;
            try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                closed = free.getLocalPort();
            }
            byte[] refusing = new TcpAddress(truth.fabricId(), truth.host(), closed, 0).encode();
            try (Peer peer = reader.fabric().connect("refuses", refusing)) {
                assertThat(peer.isReachable()).isTrue();
                RemoteSlice slice = new RemoteSlice(0, 0, 1);
                assertThat(ReadFixture.failure(reader, peer, Duration.ofSeconds(30), slice)
                                .reason())
                        .isEqualTo(Reason.PEER_GONE);
                assertThat(peer.isReachable()).isFalse();
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
