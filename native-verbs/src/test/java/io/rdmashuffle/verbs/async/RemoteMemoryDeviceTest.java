// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.verbs.CompletionStatus;
import io.rdmashuffle.verbs.LeakCheck;
import io.rdmashuffle.verbs.RdmaTestDevice;
import io.rdmashuffle.verbs.WorkFailedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests of a peer's memory over a device: written, read, released. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class RemoteMemoryDeviceTest {
    private static final int LENGTH = 10_000;
    private static final long CAP = 1 << 20;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaTestDevice device;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint client;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private RdmaEndpoint serving;

    @SuppressWarnings("NullAway.Init") // by the method before each test
    private MemoryServer server;

    @BeforeEach
    void open() throws Exception {
        device = RdmaTestDevice.require();
        client = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT);
        serving = RdmaEndpoint.open(device.address(), EndpointOptions.DEFAULT);
        server = serving.serveMemory(0, CAP, request -> ConnectAnswer.accept());
    }

    @AfterEach
    void close() {
        if (server != null) { // null if the test was skipped
            client.close();
            serving.close();
        }
    }

    private RemoteMemory connect() throws Exception {
        return ConnectedEndpoints.get(client.connectMemory(server.address(), ConnectedEndpoints.TIMEOUT, new byte[0]));
    }

    private static RemoteAllocation allocate(RemoteMemory memory, long lengthBytes) throws Exception {
        return ConnectedEndpoints.get(memory.allocate(lengthBytes, ConnectedEndpoints.TIMEOUT));
    }

    @Test
    void givenMemoryIsWrittenAndRead() throws Exception {
        byte[] content = new byte[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            content[i] = (byte) ((i * 31) >> 3);
        }
        LocalRegion local = client.allocate(LENGTH);
        RemoteMemory memory = connect();
        RemoteMemory other = connect();
        try (RemoteAllocation given = allocate(memory, LENGTH)) {
            local.put(0, content);
            ConnectedEndpoints.get(memory.connection().write(local.slice(0, LENGTH), given.region()));
            ConnectedEndpoints.awaitArrival(memory.connection(), local, given.region());
            local.put(0, new byte[LENGTH]);
            // Any connection to the same endpoint reaches it.
            ConnectedEndpoints.get(other.connection().read(local.slice(0, LENGTH), given.region()));
            assertThat(local.get(0, LENGTH)).isEqualTo(content);
        }
    }

    @Test
    void givenMemoryCounts() throws Exception {
        device.assume(device.limits().atomics(), "atomics");
        RemoteMemory memory = connect();
        try (RemoteAllocation given = allocate(memory, LENGTH)) {
            RemoteRegion counter = given.region().slice(8, 8);
            assertThat(ConnectedEndpoints.get(memory.connection().fetchAndAdd(counter, 5)))
                    .isZero();
            assertThat(ConnectedEndpoints.get(memory.connection().fetchAndAdd(counter, 1)))
                    .isEqualTo(5);
        }
    }

    @Test
    void memoryThatWasGivenBackIsOutOfReach() throws Exception {
        LocalRegion local = client.allocate(LENGTH);
        RemoteMemory memory = connect();
        RemoteAllocation given = allocate(memory, LENGTH);
        RemoteRegion region = given.region();
        ConnectedEndpoints.get(given.free());
        assertThat(server.usedBytes()).isZero();
        CompletableFuture<Void> write = memory.connection().write(local.slice(0, LENGTH), region);
        if (!device.iwarp()) { // where it is complete when TCP has it
            assertThatThrownBy(() -> ConnectedEndpoints.get(write))
                    .cause()
                    .isInstanceOfSatisfying(
                            WorkFailedException.class,
                            failure -> assertThat(failure.status()).isEqualTo(CompletionStatus.REMOTE_ACCESS_ERROR));
        }
        assertThat(ConnectedEndpoints.get(memory.connection().ended())).isNotNull();
    }

    @Test
    void boundHoldsForAllPeersAndIsFreeOnceTheyHaveGone() throws Exception {
        RemoteMemory first = connect();
        RemoteMemory second = connect();
        List<CompletableFuture<RemoteAllocation>> asked = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            asked.add((i % 2 == 0 ? first : second).allocate(CAP / 32, ConnectedEndpoints.TIMEOUT));
        }
        int refused = 0;
        for (CompletableFuture<RemoteAllocation> each : asked) {
            refused += ConnectedEndpoints.get(each.handle((given, failure) -> {
                assertThat(failure == null || failure instanceof MemoryRefusedException)
                        .as(String.valueOf(failure))
                        .isTrue();
                return failure == null ? 0 : 1;
            }));
        }
        assertThat(refused).isEqualTo(8);
        assertThat(server.usedBytes()).isEqualTo(CAP);
        first.close();
        second.close();
        RemoteMemory third = connect();
        // The server may not have seen yet that they have gone.
        CompletableFuture<RemoteAllocation> all = third.allocate(CAP, ConnectedEndpoints.TIMEOUT);
        while (ConnectedEndpoints.get(all.handle((given, failure) -> failure != null))) {
            all = third.allocate(CAP, ConnectedEndpoints.TIMEOUT);
        }
        assertThat(ConnectedEndpoints.get(all).region().lengthBytes()).isEqualTo(CAP);
    }

    @Test
    void serverThatClosesEndsItsPeers() throws Exception {
        RemoteMemory memory = connect();
        RemoteAllocation given = allocate(memory, LENGTH);
        server.close();
        assertThat(server.usedBytes()).isZero();
        // On iWARP the news may come after the receives that it flushes.
        assertThat(ConnectedEndpoints.get(memory.connection().ended()))
                .hasMessageMatching(".*DISCONNECTED.*" + (device.iwarp() ? "|RECEIVE .*WORK_REQUEST_FLUSHED.*" : ""));
        ConnectedEndpoints.get(given.free());
    }

    @Test
    void serverWithoutMemoryRefuses() throws Exception {
        try (MemoryServer none = serving.serveMemory(0, 0, request -> ConnectAnswer.accept())) {
            CompletableFuture<RemoteMemory> refused =
                    client.connectMemory(none.address(), ConnectedEndpoints.TIMEOUT, new byte[0]);
            assertThatThrownBy(() -> ConnectedEndpoints.get(refused))
                    .cause()
                    .isInstanceOf(RdmaRefusedException.class)
                    .hasMessageContaining("this server gives no memory to peers");
        }
    }
}
