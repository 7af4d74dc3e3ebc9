// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static io.rdmashuffle.lifecycle.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.Lease;
import io.rdmashuffle.memory.ShmTempDirs;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Connections from programs that are no peer, or one that misbehaves: none gets a byte, holds or breaks anything. */
@Tag("fault")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class TcpStrangerTest {
    private static final Secret SECRET = Secret.of(new byte[] {5, 4, 3});
    private static final int READ_TIMEOUT_MILLIS = 20_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private final List<Socket> sockets = new ArrayList<>();
    private ReadFixture fixture;
    private Node owner;
    private Node reader;
    private Lease data;
    private TcpAddress address;

    @BeforeEach
    void open() throws Exception {
        fixture = new ReadFixture(directory);
        owner = fixture.node(new TcpFabric(TestTcp.settings(1, 8 << 20, SECRET)));
        reader = fixture.node(new TcpFabric(TestTcp.settings(1, 8 << 20, SECRET)));
        data = fixture.data(owner);
        address = TcpAddress.decode(owner.fabric().localAddress());
    }

    @AfterEach
    void close() throws IOException {
        for (Socket socket : sockets) {
            socket.close();
        }
        fixture.close();
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), address.port());
        socket.setSoTimeout(READ_TIMEOUT_MILLIS);
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        return socket;
    }

    private void assertServesPeers() throws Exception {
        try (Peer peer = reader.connect(owner)) {
            ReadFixture.assertReadable(reader, peer, data);
        }
    }

    private static byte[] challengeOf(Socket socket) throws IOException {
        byte[] challenge = socket.getInputStream().readNBytes(TcpHandshake.CHALLENGE_BYTES);
        assertThat(TcpHandshake.isChallenge(challenge)).isTrue();
        return challenge;
    }

    private static byte[] rest(Socket socket) throws IOException {
        try (InputStream in = socket.getInputStream()) {
            return in.readAllBytes();
        } catch (SocketException e) {
            // A reset, where bytes were left unread.
            return new byte[0];
        }
    }

    @Test
    void silentStrangerReceivesOnlyAChallenge() throws Exception {
        Socket socket = connect();
        byte[] challenge = challengeOf(socket);
        assertThat(challenge).hasSize(TcpHandshake.CHALLENGE_BYTES);
        assertThat(rest(socket)).isEmpty();
    }

    @Test
    void wrongSecretReceivesAVerdictWithoutProof() throws Exception {
        Socket socket = connect();
        byte[] challenge = challengeOf(socket);
        byte[] hello = TcpHandshake.hello(1, address.fabricId(), challenge, Secret.of(new byte[] {1}));
        socket.getOutputStream().write(hello);
        ByteBuffer answer = ByteBuffer.wrap(rest(socket)).order(ByteOrder.LITTLE_ENDIAN);
        assertThat(answer.remaining()).isEqualTo(TcpHandshake.ANSWER_BYTES);
        assertThat(answer.getInt(4)).isEqualTo(TcpHandshake.Verdict.NOT_PROVEN.number());
        for (int i = 8; i < TcpHandshake.ANSWER_BYTES; i++) {
            assertThat(answer.get(i)).isZero();
        }
    }

    @Test
    void strangersThatResetTheirConnectionsCostNoMemory() throws Exception {
        assertServesPeers();
        long before = TestTcp.directBytes();
        for (int i = 0; i < 200; i++) {
            Socket socket = connect();
            byte[] challenge = challengeOf(socket);
            assertThat(challenge).hasSize(TcpHandshake.CHALLENGE_BYTES);
            socket.getOutputStream().write(new byte[TcpHandshake.HELLO_BYTES]);
            assertThat(socket.getInputStream().readNBytes(TcpHandshake.ANSWER_BYTES))
                    .hasSize(TcpHandshake.ANSWER_BYTES);
            socket.setSoLinger(true, 0);
            socket.close();
        }
        assertServesPeers();
        assertThat(TestTcp.directBytes() - before).isLessThan(1 << 20);
    }

    @Test
    void recordedHandshakeProvesNothing() throws Exception {
        Socket first = connect();
        byte[] hello = TcpHandshake.hello(1, address.fabricId(), challengeOf(first), SECRET);
        first.getOutputStream().write(hello);
        assertThat(verdict(first)).isEqualTo(TcpHandshake.Verdict.ACCEPTED.number());
        Socket second = connect();
        byte[] unused = challengeOf(second);
        second.getOutputStream().write(hello);
        assertThat(verdict(second)).isEqualTo(TcpHandshake.Verdict.NOT_PROVEN.number());
    }

    private static int verdict(Socket socket) throws IOException {
        byte[] answer = socket.getInputStream().readNBytes(TcpHandshake.ANSWER_BYTES);
        return ByteBuffer.wrap(answer).order(ByteOrder.LITTLE_ENDIAN).getInt(4);
    }

    @Test
    void floodOfStrangersDoesNotKeepPeersOut() throws Exception {
        for (int i = 0; i < TcpListener.MAX_HANDSHAKES + 50; i++) {
            Socket unused = connect();
        }
        assertServesPeers();
    }

    @Test
    void damagedHellosAreRefused() throws Exception {
        try (FuzzRun run = new FuzzRun("TCP hello", IOException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (int i = 0; i < run.times(200); i++) {
                Socket socket = connect();
                byte[] valid = TcpHandshake.hello(1, address.fabricId(), challengeOf(socket), SECRET);
                byte[] damaged = mutations.atRandom(valid);
                run.attempt(damaged, () -> {
                    socket.getOutputStream().write(damaged);
                    boolean accepted = verdict(socket) == TcpHandshake.Verdict.ACCEPTED.number();
                    assertThat(accepted).isEqualTo(Arrays.equals(valid, damaged));
                    return accepted;
                });
                socket.close();
            }
        }
        assertServesPeers();
    }

    @Test
    void damagedRequestsEndTheirConnectionOnly() throws Exception {
        byte[] valid = ByteBuffer.allocate(Frames.REQUEST_HEADER_BYTES + 2 * Frames.SLICE_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(0)
                .putInt(2)
                .putInt(data.region().id())
                .putLong(data.offset())
                .putLong(100)
                .putInt(data.region().id())
                .putLong(data.offset() + 500)
                .putLong(1000)
                .array();
        try (FuzzRun run = new FuzzRun("TCP request", IOException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (int i = 0; i < run.times(300); i++) {
                Socket socket = connect();
                byte[] hello = TcpHandshake.hello(1, address.fabricId(), challengeOf(socket), SECRET);
                socket.getOutputStream().write(hello);
                assertThat(verdict(socket)).isZero();
                byte[] damaged = i % 3 == 0 ? mutations.garbage(200) : mutations.atRandom(valid);
                run.attempt(() -> HexFormat.of().formatHex(damaged), 8 * Node.REGION_BYTES, () -> {
                    socket.getOutputStream().write(damaged);
                    socket.shutdownOutput();
                    byte[] answered = rest(socket);
                    assertThat(answered.length).isLessThanOrEqualTo((int) (8 * Node.REGION_BYTES));
                    return answered.length > Frames.RESPONSE_HEADER_BYTES;
                });
                socket.close();
            }
        }
        assertServesPeers();
    }

    @Test
    void peerThatDoesNotReceiveHoldsUpNoOther() throws Exception {
        Socket unused = peerThatDoesNotReceive();
        assertServesPeers();
    }

    @Test
    void peerThatDoesNotReceiveIsDisconnectedInTheEnd() throws Exception {
        serveWith(Duration.ofMinutes(5), Duration.ofMillis(300));
        Socket socket = peerThatDoesNotReceive();
        assertThat(isServed(socket)).isTrue();
        eventually().until(() -> !isServed(socket));
        assertServesPeers();
    }

    @Test
    void idlePeerIsDisconnectedAfterTwiceItsTimeout() throws Exception {
        serveWith(Duration.ofMillis(150), Duration.ofSeconds(30));
        Socket socket = connect();
        socket.getOutputStream().write(TcpHandshake.hello(1, address.fabricId(), challengeOf(socket), SECRET));
        assertThat(verdict(socket)).isZero();
        assertThat(rest(socket)).isEmpty();
        assertServesPeers();
    }

    private void serveWith(Duration idleTimeout, Duration readTimeout) throws Exception {
        TcpSettings settings = TestTcp.settings(1, 8 << 20, SECRET);
        owner = fixture.node(new TcpFabric(new TcpSettings(
                settings.host(),
                settings.ports(),
                1,
                settings.connectTimeout(),
                idleTimeout,
                readTimeout,
                8 << 20,
                SECRET)));
        data = fixture.data(owner);
        address = TcpAddress.decode(owner.fabric().localAddress());
    }

    /** Asks the kernel for the owner's end, since any byte would count as progress. Source: proc_net_tcp.txt. */
    private static boolean isServed(Socket socket) throws IOException {
        Pattern entry = Pattern.compile("\\w+:%04X \\w+:%04X 01".formatted(socket.getPort(), socket.getLocalPort()));
        return entry.matcher(Files.readString(Path.of("/proc/self/net/tcp"))).find()
                || entry.matcher(Files.readString(Path.of("/proc/self/net/tcp6")))
                        .find();
    }

    private Socket peerThatDoesNotReceive() throws Exception {
        Socket socket = connect();
        // The kernel would take all responses by itself otherwise.
        socket.setReceiveBufferSize(64 << 10);
        socket.getOutputStream().write(TcpHandshake.hello(1, address.fabricId(), challengeOf(socket), SECRET));
        assertThat(verdict(socket)).isZero();
        ByteBuffer request = ByteBuffer.allocate(Frames.REQUEST_HEADER_BYTES + Frames.SLICE_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(0)
                .putInt(1)
                .putInt(data.region().id())
                .putLong(0)
                .putLong(Node.REGION_BYTES);
        for (int i = 0; i < 200; i++) {
            request.putInt(0, i);
            socket.getOutputStream().write(request.array());
        }
        return socket;
    }
}
