// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.fabric.tcp;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.fabric.Node;
import io.rdmashuffle.fabric.Peer;
import io.rdmashuffle.fabric.ReadFailedException;
import io.rdmashuffle.fabric.ReadFixture;
import io.rdmashuffle.fabric.RemoteSlice;
import io.rdmashuffle.fabric.Secret;
import io.rdmashuffle.fuzz.FuzzRun;
import io.rdmashuffle.fuzz.Mutations;
import io.rdmashuffle.memory.LeakCheck;
import io.rdmashuffle.memory.ShmTempDirs;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of owners that know the secret and answer with damaged bytes: a reader refuses them, or receives the bytes as
 * sent.
 */
@Tag("fault")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class TcpImpostorTest {
    private static final Secret SECRET = Secret.of(new byte[] {5, 4, 3});
    private static final long OWNER_ID = 7;
    private static final int PAYLOAD = 100;
    private static final int TIMEOUT_MILLIS = 20_000;

    @TempDir(factory = ShmTempDirs.class)
    Path directory;

    private ReadFixture fixture;
    private Node reader;
    private ServerSocket server;

    /** Which of its parts the owner sends damaged, and as what. */
    private volatile Part damagedPart = Part.NONE;

    private volatile byte[] damagedBytes = {};

    /** Long reads are answered when it is open. */
    private final CountDownLatch answersLongReads = new CountDownLatch(1);

    private final CountDownLatch hasLongRead = new CountDownLatch(1);
    /** Further connections are closed at once. */
    private volatile boolean isFull;

    private final CountDownLatch hasRefused = new CountDownLatch(1);

    /** What an owner sends. */
    private enum Part {
        NONE,
        CHALLENGE,
        ANSWER,
        RESPONSE
    }

    private void damage(Part part, byte[] bytes) {
        damagedBytes = bytes;
        damagedPart = part;
    }

    private byte[] send(Part part, byte[] right) {
        return part == damagedPart ? damagedBytes : right;
    }

    @BeforeEach
    void open() throws Exception {
        fixture = new ReadFixture(directory);
        reader = fixture.node(new TcpFabric(TestTcp.settings(1, 8 << 20, SECRET)));
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread thread = new Thread(this::serve, "impostor");
        thread.setDaemon(true);
        thread.start();
    }

    @AfterEach
    void close() throws IOException {
        server.close();
        fixture.close();
    }

    private void serve() {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                Thread connection = new Thread(() -> serveAndClose(socket), "impostor connection");
                connection.setDaemon(true);
                connection.start();
            } catch (IOException expected) {
                // The test is over.
            }
        }
    }

    private void serveAndClose(Socket socket) {
        try (socket) {
            socket.setSoTimeout(TIMEOUT_MILLIS);
            serve(socket);
        } catch (IOException expected) {
            // The reader has hung up.
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void serve(Socket socket) throws IOException, InterruptedException {
        if (isFull) {
            hasRefused.countDown();
            return;
        }
        OutputStream out = socket.getOutputStream();
        byte[] challenge = send(Part.CHALLENGE, TcpHandshake.challenge());
        out.write(challenge);
        byte[] hello = socket.getInputStream().readNBytes(TcpHandshake.HELLO_BYTES);
        if (hello.length < TcpHandshake.HELLO_BYTES) {
            return;
        }
        out.write(send(Part.ANSWER, TcpHandshake.answer(TcpHandshake.Verdict.ACCEPTED, hello, challenge, SECRET)));
        int requestBytes = Frames.REQUEST_HEADER_BYTES + Frames.SLICE_BYTES;
        byte[] request = socket.getInputStream().readNBytes(requestBytes);
        for (int id = 0; request.length == requestBytes; id++) {
            int length = (int) ByteBuffer.wrap(request)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .getLong(Frames.REQUEST_HEADER_BYTES + Frames.LENGTH);
            if (length > PAYLOAD) {
                hasLongRead.countDown();
                boolean unused = answersLongReads.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
            }
            out.write(send(Part.RESPONSE, response(id, length)));
            if (damagedPart != Part.NONE) {
                // The reader may wait for the rest of a response.
                return;
            }
            request = socket.getInputStream().readNBytes(requestBytes);
        }
    }

    private static byte[] response() {
        return response(0, PAYLOAD);
    }

    private static byte[] response(int id, int length) {
        ByteBuffer response = ByteBuffer.allocate(Frames.RESPONSE_HEADER_BYTES + length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(id)
                .putInt(Frames.Status.OK.number())
                .putLong(length);
        for (byte value = 0; response.hasRemaining(); value++) {
            response.put(value);
        }
        return response.array();
    }

    private byte[] read() throws Exception {
        try (Peer peer = connect()) {
            return read(peer, PAYLOAD);
        }
    }

    private Peer connect() throws Exception {
        byte[] address = new TcpAddress(OWNER_ID, TestTcp.HOST, server.getLocalPort(), 0).encode();
        return reader.fabric().connect("impostor", address);
    }

    private byte[] read(Peer peer, int length) throws IOException {
        return ReadFixture.read(reader, peer, Duration.ofSeconds(30), new RemoteSlice(0, 0, length));
    }

    private CompletableFuture<byte[]> readAsync(Peer peer, int length) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return read(peer, length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    private static byte[] payload(byte[] response) {
        return Arrays.copyOfRange(response, Frames.RESPONSE_HEADER_BYTES, Frames.RESPONSE_HEADER_BYTES + PAYLOAD);
    }

    /** Otherwise tasks on a slow network would look up their blocks only when those of others have arrived. */
    @Test
    void lookupDoesNotWaitBehindBlocks() throws Exception {
        try (Peer peer = connect()) {
            CompletableFuture<byte[]> blocks = readAsync(peer, ReadFixture.BYTES);
            assertThat(hasLongRead.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
            assertThat(read(peer, PAYLOAD)).isEqualTo(payload(response()));
            assertThat(blocks).isNotDone();
            answersLongReads.countDown();
            assertThat(blocks.get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).hasSize(ReadFixture.BYTES);
        }
    }

    /** As of an owner that has no room for another connection. */
    @Test
    void lookupTakesItsTurnWhereASecondConnectionFails() throws Exception {
        try (Peer peer = connect()) {
            CompletableFuture<byte[]> blocks = readAsync(peer, ReadFixture.BYTES);
            assertThat(hasLongRead.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
            isFull = true;
            CompletableFuture<byte[]> lookup = readAsync(peer, PAYLOAD);
            assertThat(hasRefused.await(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isTrue();
            answersLongReads.countDown();
            assertThat(blocks.get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).hasSize(ReadFixture.BYTES);
            assertThat(lookup.get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)).isEqualTo(payload(response()));
        }
    }

    @Test
    void readerTakesNoBytesAfterADamagedHeader() throws Exception {
        byte[] right = response();
        assertThat(read()).isEqualTo(payload(right));
        byte[] header = Arrays.copyOf(right, Frames.RESPONSE_HEADER_BYTES);
        try (FuzzRun run = new FuzzRun("TCP response", ReadFailedException.class)) {
            Consumer<byte[]> attempt = damaged -> {
                damage(Part.RESPONSE, damaged);
                run.attempt(damaged, () -> {
                    byte[] read = read();
                    assertThat(Arrays.copyOf(damaged, Frames.RESPONSE_HEADER_BYTES))
                            .isEqualTo(header);
                    assertThat(damaged).hasSizeGreaterThanOrEqualTo(right.length);
                    assertThat(read).isEqualTo(payload(damaged));
                    return true;
                });
            };
            Mutations mutations = new Mutations(run.random());
            mutations.otherLengths(right, attempt);
            for (int i = 0; i < run.times(100); i++) {
                attempt.accept(mutations.atRandom(right));
            }
        }
        assertThat(reader.pool().usage().leases()).as("targets released").isZero();
    }

    @Test
    void readerAsksNothingAfterADamagedAnswer() throws Exception {
        try (FuzzRun run = new FuzzRun("TCP answer", ReadFailedException.class)) {
            Mutations mutations = new Mutations(run.random());
            // It answers another hello, and proves nothing.
            byte[] old = TcpHandshake.answer(
                    TcpHandshake.Verdict.ACCEPTED,
                    TcpHandshake.hello(1, OWNER_ID, TcpHandshake.challenge(), SECRET),
                    TcpHandshake.challenge(),
                    SECRET);
            for (int i = 0; i < run.times(100); i++) {
                byte[] damaged = i == 0 ? old : mutations.atRandom(old);
                damage(Part.ANSWER, damaged);
                run.attempt(damaged, () -> {
                    read();
                    throw new AssertionError("read from a process that proves nothing");
                });
            }
        }
    }

    @Test
    void damagedChallengesAreRefusedOrAnswered() throws Exception {
        byte[] right = response();
        try (FuzzRun run = new FuzzRun("TCP challenge", ReadFailedException.class)) {
            Mutations mutations = new Mutations(run.random());
            for (int i = 0; i < run.times(100); i++) {
                byte[] damaged = mutations.atRandom(TcpHandshake.challenge());
                damage(Part.CHALLENGE, damaged);
                run.attempt(damaged, () -> {
                    assertThat(read()).isEqualTo(payload(right));
                    assertThat(TcpHandshake.isChallenge(damaged)).isTrue();
                    return true;
                });
            }
        }
    }
}
