// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmashuffle.ffi.Errno;
import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.async.EndpointOptions;
import io.rdmashuffle.verbs.async.LocalRegion;
import io.rdmashuffle.verbs.async.RdmaConnection;
import io.rdmashuffle.verbs.async.RdmaEndpoint;
import io.rdmashuffle.verbs.async.RdmaListener;
import io.rdmashuffle.verbs.async.ReceivedMessage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Exchanger;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Runs the examples of the documentation. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class ExamplesTest {
    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @BeforeEach
    void needDevice() {
        device = RdmaTestDevice.require();
    }

    @Test
    void highLevel() throws Exception {
        Examples.open(device.address());
        Examples.options(device.address());
        try (RdmaEndpoint server = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT);
                RdmaEndpoint client = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT)) {
            CompletableFuture<RdmaConnection> accepted = new CompletableFuture<>();
            RdmaListener listener = Examples.listen(server, accepted);
            RdmaConnection connection = Examples.connect(client, listener.address());
            RdmaConnection other = accepted.get(30, TimeUnit.SECONDS);
            assertThat(Examples.privateData(server, client, "secret").peerData()[0])
                    .isEqualTo((byte) 42);
            Examples.describe(client);
            Path file = Files.createTempFile(Path.of("/dev/shm"), "native-verbs", ".mapped");
            try {
                Files.write(file, new byte[5000]);
                Examples.register(client, file);
            } finally {
                Files.delete(file);
            }
            LocalRegion here = client.allocate(8192);
            LocalRegion there = server.allocate(8192);
            Examples.read(connection, here, there.describe());
            Examples.write(connection, here, there.describe());
            assertThat(there.get(100, 3)).containsExactly(1, 2, 3);
            Examples.send(connection, here, other, there);
            assertThat(there.get(4096, 3)).containsExactly(4, 5, 6);
            there.put(8000, new byte[] {7, 8, 9});
            Examples.prepared(connection, here, there.describe());
            assertThat(here.get(8000, 3)).containsExactly(7, 8, 9);
            Examples.sharedReceives(server, client);
            device.assume(!device.isOf("siw"), "immediate data");
            Examples.writeWithImmediate(connection, here, other, there);
            Examples.gather(connection, here, here, there.describe());
            CompletableFuture<ReceivedMessage> told = other.receive(there.slice(2000, 1));
            Examples.batch(connection, here, there.describe());
            assertThat(told.get(30, TimeUnit.SECONDS).lengthBytes()).isOne();
            device.assume(device.limits().atomics(), "atomics");
            there.putLong(8, 37);
            Examples.atomics(connection, there.describe());
            assertThat(there.getLong(8)).isZero();
            Examples.remoteMemory(server, client, here);
            Examples.failure(connection, here, there.describe());
        }
    }

    private static void read(Loopback loopback, Memory local, Memory remote) {
        try (SendRequests chain = new SendRequests(1, 1)) {
            chain.read(1, local.at(0), 10, local.localKey(), remote.at(0), remote.remoteKey(), true);
            assertThat(loopback.client.post(chain)).isEqualTo(1);
        }
    }

    @Test
    void lowLevel() throws Exception {
        Examples.devices();
        try (Loopback loopback = Loopback.connect()) {
            Memory local = Memory.of(loopback.domain, 4096);
            Memory remote = Memory.of(loopback.domain, 4096).with(new byte[] {1, 2, 3});
            Examples.chain(loopback.client, loopback.clientQueue, local.region(), remote.region());
            assertThat(local.bytes(3)).containsExactly(1, 2, 3);
            Examples.events(loopback.channel, loopback.clientQueue, () -> read(loopback, local, remote));
            Examples.vectors(loopback.context);
            Examples.register(loopback.domain);
            assumeMemoryWindows(loopback);
            Examples.window(loopback.server, loopback.serverQueue, remote.region());
            Examples.prefetch(loopback.domain, remote.at(0), 4096);
            sendInvalidating(loopback, local, remote);
            local.close();
            remote.close();
        }
    }

    /** The kernel may have them, and the device's part of an older rdma-core not. */
    private void assumeMemoryWindows(Loopback loopback) {
        device.assume(loopback.context.limits().memoryWindows(), "memory windows");
        try {
            loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TWO).close();
        } catch (NativeException e) {
            device.assume(!Errno.EOPNOTSUPP.is(e.errno()), "memory windows of type TWO: " + e.getMessage());
            throw e;
        }
    }

    @Test
    void withoutTheConnectionManager() throws Exception {
        try (DirectPairs pairs = new DirectPairs(device)) {
            GidEntry gid = Objects.requireNonNull(pairs.attributes.gid());
            Exchanger<byte[]> peers = new Exchanger<>();
            CompletableFuture<Void> server = CompletableFuture.runAsync(() -> {
                try {
                    Examples.direct(pairs.context, gid, pairs.server, peers);
                } catch (Exception e) {
                    throw new CompletionException(e);
                }
            });
            Examples.direct(pairs.context, gid, pairs.client, peers);
            server.get(30, TimeUnit.SECONDS);
            try (Memory memory = Memory.of(pairs.domain, 4096)) {
                Examples.chain(pairs.client, pairs.clientQueue, memory.region(), memory.region());
            }
            assertThat(pairs.client.state()).isEqualTo(QueuePair.State.READY_TO_SEND);
        }
    }

    @Test
    void datagrams() {
        try (DirectPairs pairs = new DirectPairs(device);
                ReceiveRequests receives = new ReceiveRequests(1);
                Memory memory = Memory.of(pairs.domain, 4096)) {
            QueuePair sender = Examples.openForDatagrams(pairs.domain, pairs.clientQueue, pairs.attributes);
            QueuePair receiver = Examples.openForDatagrams(pairs.domain, pairs.serverQueue, pairs.attributes);
            receives.add(2, memory.at(1000), 1000, memory.localKey());
            assertThat(receiver.post(receives)).isEqualTo(1);
            PairAddress peer = receiver.address(pairs.attributes);
            Examples.datagram(pairs.domain, sender, pairs.clientQueue, pairs.attributes, peer, memory.region());
            Loopback.awaitSuccess(pairs.serverQueue, 2);
        }
    }

    /** Gives the client the key of a window, which it invalidates. */
    private static void sendInvalidating(Loopback loopback, Memory local, Memory remote) {
        try (MemoryWindow window = loopback.domain.allocateMemoryWindow(MemoryWindow.Type.TWO);
                SendRequests chain = new SendRequests(1, 1);
                ReceiveRequests receives = new ReceiveRequests(1)) {
            int key = window.nextRemoteKey();
            Set<Access> rights = Set.of(Access.REMOTE_READ);
            chain.bindWindow(1, window, key, remote.region(), remote.at(0), 100, rights);
            assertThat(loopback.server.post(chain)).isEqualTo(1);
            Loopback.awaitSuccess(loopback.serverQueue, 1);
            assertThat(loopback.server.post(receives.add(2, remote.at(0), 10, remote.localKey())))
                    .isEqualTo(1);
            Examples.sendInvalidating(loopback.client, loopback.clientQueue, local.region(), key);
            Loopback.awaitSuccess(loopback.serverQueue, 2);
        }
    }
}
