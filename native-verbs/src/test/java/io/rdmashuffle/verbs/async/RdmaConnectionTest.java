// SPDX-License-Identifier: Apache-2.0
package io.rdmashuffle.verbs.async;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmashuffle.ffi.NativeException;
import io.rdmashuffle.verbs.LeakCheck;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every operation of a connection, sleeping and spinning; contents compared. */
@Tag("rdma")
@Timeout(120)
@ExtendWith(LeakCheck.class)
class RdmaConnectionTest {
    private static final int LENGTH = 100_000;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private ConnectedEndpoints endpoints;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private LocalRegion here;

    @SuppressWarnings("NullAway.Init") // by the first line of each test
    private LocalRegion there;

    private final byte[] content = content();

    private static byte[] content() {
        long seed = System.nanoTime();
        System.out.println("RdmaConnectionTest seed " + seed);
        byte[] content = new byte[LENGTH];
        new Random(seed).nextBytes(content);
        return content;
    }

    private ConnectedEndpoints.Pair connect(boolean busyPoll) throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT.withBusyPoll(busyPoll));
        here = endpoints.client.allocate(LENGTH);
        there = endpoints.server.allocate(LENGTH);
        return endpoints.connect();
    }

    @AfterEach
    void close() {
        if (endpoints != null) { // null if the test was skipped
            endpoints.close();
        }
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return ConnectedEndpoints.get(future);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void readsAndWrites(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        there.put(0, content);
        RemoteRegion remote = RemoteRegion.decode(there.describe().encode());
        get(connection.read(here.slice(0, LENGTH), remote));
        assertThat(here.get(0, LENGTH)).isEqualTo(content);

        here.put(0, new byte[500]);
        get(connection.write(here.slice(0, 500), remote.slice(1000, 500)));
        ConnectedEndpoints.awaitArrival(connection, here, remote);
        assertThat(there.get(1000, 500)).containsOnly(0);
        assertThat(there.get(0, 1)).containsExactly(content[0]);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void sendsAndReceives(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        here.put(0, content);
        CompletableFuture<ReceivedMessage> first = pair.server().receive(there.slice(0, LENGTH));
        CompletableFuture<ReceivedMessage> second = pair.server().receive(there.slice(0, 100));
        get(pair.client().send(here.slice(0, LENGTH)));
        assertThat(get(first)).isEqualTo(new ReceivedMessage(LENGTH, OptionalInt.empty()));
        assertThat(there.get(0, LENGTH)).isEqualTo(content);

        byte[] message = "inline".getBytes(StandardCharsets.US_ASCII);
        get(pair.client().send(message));
        assertThat(get(second).lengthBytes()).isEqualTo(6);
        assertThat(there.get(0, 6)).isEqualTo(message);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void writesWithImmediate(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        RemoteRegion remote = there.describe().slice(50, 10);
        if (endpoints.device.isOf("siw")) {
            assertThatThrownBy(() -> pair.client().writeWithImmediate(here.slice(0, 10), remote, -2))
                    .isInstanceOf(NativeException.class)
                    .hasMessageContaining("EINVAL (22)");
            get(pair.client().read(here.slice(0, 10), remote));
            endpoints.device.assume(false, "immediate data");
        }
        here.put(0, content);
        CompletableFuture<ReceivedMessage> told = pair.server().receive(there.slice(0, 0));
        get(pair.client().writeWithImmediate(here.slice(0, 10), remote, -2));
        assertThat(get(told)).isEqualTo(new ReceivedMessage(10, OptionalInt.of(-2)));
        assertThat(there.get(50, 10)).isEqualTo(Arrays.copyOf(content, 10));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void messageWaitsForItsReceive(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        endpoints.device.assumeInfiniBand("SENDs that wait for a receive");
        byte[] message = "inline".getBytes(StandardCharsets.US_ASCII);
        CompletableFuture<Void> early = pair.server().send(message);
        get(pair.client().receive(here.slice(200, 10)));
        get(early);
        assertThat(here.get(200, 6)).isEqualTo(message);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void countsAndSwaps(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        endpoints.device.assume(endpoints.device.limits().atomics(), "atomics");
        RemoteRegion counter = there.describe().slice(8, 8);
        List<CompletableFuture<Long>> adds = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            adds.add(connection.fetchAndAdd(counter, 2));
        }
        for (int i = 0; i < 50; i++) {
            assertThat(get(adds.get(i))).isEqualTo(2L * i);
        }
        assertThat(get(connection.compareAndSwap(counter, 100, -1))).isEqualTo(100);
        assertThat(get(connection.compareAndSwap(counter, 100, 5))).isEqualTo(-1);
        assertThat(there.getLong(8)).isEqualTo(-1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void matchesManyInFlight(boolean busyPoll) throws Exception {
        RdmaConnection connection = connect(busyPoll).client();
        there.put(0, content);
        int pieces = EndpointOptions.DEFAULT.maxInFlight();
        int length = LENGTH / pieces;
        Random random = new Random(1);
        for (int round = 0; round < 5; round++) {
            List<CompletableFuture<?>> reads = new ArrayList<>();
            int[] from = new int[pieces];
            for (int i = 0; i < pieces; i++) {
                from[i] = random.nextInt(pieces) * length;
                int at = i * length;
                byte[] expected = Arrays.copyOfRange(content, from[i], from[i] + length);
                reads.add(connection
                        .read(here.slice(at, length), there.describe().slice(from[i], length))
                        .thenRun(() -> assertThat(here.get(at, length)).isEqualTo(expected)));
            }
            for (CompletableFuture<?> read : reads) {
                get(read);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void gathersAndScatters(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        LocalRegion other = endpoints.client.allocate(100);
        RemoteRegion remote = there.describe();
        here.put(0, content);
        other.put(0, new byte[] {1, 2, 3});
        get(pair.client()
                .write(List.of(here.slice(10, 5), other.slice(1, 2), here.slice(0, 3)), remote.slice(100, 10)));
        ConnectedEndpoints.awaitArrival(pair.client(), endpoints.client.allocate(1), remote);
        assertThat(there.get(100, 5)).isEqualTo(Arrays.copyOfRange(content, 10, 15));
        assertThat(there.get(105, 2)).containsExactly(2, 3);
        assertThat(there.get(107, 3)).isEqualTo(Arrays.copyOf(content, 3));

        List<LocalSlice> two = List.of(other.slice(50, 4), here.slice(90, 6));
        if (endpoints.device.limits().maxPiecesOfRead() < 2) { // as on iWARP
            assertThatThrownBy(() -> pair.client().read(two, remote.slice(100, 10)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("at most 1 pieces of local memory");
        } else {
            get(pair.client().read(two, remote.slice(100, 10)));
            assertThat(other.get(50, 4)).isEqualTo(there.get(100, 4));
            assertThat(here.get(90, 6)).isEqualTo(there.get(104, 6));
        }

        CompletableFuture<ReceivedMessage> received = pair.server().receive(there.slice(500, 10));
        get(pair.client().send(List.of(other.slice(0, 3), other.slice(0, 0), other.slice(2, 1))));
        assertThat(get(received).lengthBytes()).isEqualTo(4);
        assertThat(there.get(500, 4)).containsExactly(1, 2, 3, 3);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void postsBatches(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        RemoteRegion remote = there.describe();
        here.put(0, content);
        CompletableFuture<ReceivedMessage> first = pair.server().receive(there.slice(500, 10));
        CompletableFuture<ReceivedMessage> second = pair.server().receive(there.slice(510, 10));
        RdmaBatch batch = pair.client().batch();
        CompletableFuture<Void> write = batch.write(here.slice(0, 400), remote.slice(1000, 400));
        CompletableFuture<Void> hello = batch.send(new byte[] {1, 2});
        CompletableFuture<Void> world = batch.send(new byte[] {3});
        get(batch.post());
        assertThat(List.of(write, hello, world)).allMatch(CompletableFuture::isDone);
        assertThat(get(first).lengthBytes()).isEqualTo(2);
        assertThat(there.get(1000, 400)).as("before the message").isEqualTo(Arrays.copyOf(content, 400));
        assertThat(get(second).lengthBytes()).isEqualTo(1);
        assertThat(there.get(500, 2)).containsExactly(1, 2);
        assertThat(there.get(510, 1)).containsExactly(3);

        RdmaBatch full = pair.client().batch();
        for (int i = 0; i < EndpointOptions.DEFAULT.maxInFlight(); i++) {
            CompletableFuture<Void> read = full.read(here.slice(i, 1), remote.slice(1000 + i, 1));
            assertThat(read).isNotDone();
        }
        get(full.post());
        assertThat(here.get(0, 64)).isEqualTo(there.get(1000, 64));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void postsBatchesWithAtomics(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        endpoints.device.assume(endpoints.device.limits().atomics(), "atomics");
        RemoteRegion remote = there.describe();
        here.put(0, content);
        there.putLong(8, 40);
        CompletableFuture<ReceivedMessage> received = pair.server().receive(there.slice(500, 10));
        RdmaBatch batch = pair.client().batch();
        CompletableFuture<Void> write = batch.write(here.slice(0, 400), remote.slice(1000, 400));
        CompletableFuture<Long> add = batch.fetchAndAdd(remote.slice(8, 8), 2);
        CompletableFuture<Void> hello = batch.send(new byte[] {1, 2});
        get(batch.post());
        assertThat(List.of(write, hello)).allMatch(CompletableFuture::isDone);
        assertThat(get(add)).isEqualTo(40);
        assertThat(there.getLong(8)).isEqualTo(42);
        assertThat(there.get(1000, 400)).isEqualTo(Arrays.copyOf(content, 400));
        assertThat(get(received).lengthBytes()).isEqualTo(2);
    }

    @Test
    void severalThreadsDriveConnections() throws Exception {
        endpoints = new ConnectedEndpoints(EndpointOptions.DEFAULT.withProgressThreads(3));
        here = endpoints.client.allocate(LENGTH);
        there = endpoints.server.allocate(LENGTH);
        there.put(0, content);
        List<RdmaConnection> connections = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            connections.add(endpoints.connect().client());
        }
        int piece = 1000;
        int length = piece * connections.size();
        List<CompletableFuture<?>> reads = new ArrayList<>();
        Set<String> threads = ConcurrentHashMap.newKeySet();
        for (int at = 0; at < length; at += piece) {
            reads.add(connections
                    .get(at / piece)
                    .read(here.slice(at, piece), there.describe().slice(at, piece))
                    .thenRun(() -> threads.add(Thread.currentThread().getName())));
        }
        for (CompletableFuture<?> read : reads) {
            get(read);
        }
        assertThat(here.get(0, length)).isEqualTo(Arrays.copyOf(content, length));
        // Callbacks of futures that were complete already ran here.
        threads.remove(Thread.currentThread().getName());
        assertThat(threads).allMatch(name -> name.startsWith("rdma-progress-"));
        connections.get(0).close();
        get(connections.get(1).read(here.slice(0, piece), there.describe().slice(0, piece)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void refusesMistakesBeforePosting(boolean busyPoll) throws Exception {
        ConnectedEndpoints.Pair pair = connect(busyPoll);
        RdmaConnection connection = pair.client();
        RemoteRegion remote = there.describe();
        assertThatThrownBy(() -> here.slice(LENGTH - 1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> remote.slice(-1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> connection.read(here.slice(0, 10), remote.slice(0, 11)))
                .hasMessageContaining("equally long");
        assertThatThrownBy(() -> connection.read(there.slice(0, 10), remote.slice(0, 10)))
                .hasMessageContaining("another endpoint");
        boolean atomics = endpoints.device.limits().atomics();
        assertThatThrownBy(() -> connection.fetchAndAdd(remote.slice(4, 8), 1))
                .hasMessageContaining(atomics ? "aligned to 8" : "has no atomics");
        assertThatThrownBy(() -> connection.send(new byte[65])).hasMessageContaining("at most 64");
        LocalRegion closed = endpoints.client.allocate(10);
        closed.close();
        assertThatThrownBy(() -> connection.write(closed.slice(0, 10), remote.slice(0, 10)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
        for (int i = 0; i < EndpointOptions.DEFAULT.maxReceives(); i++) {
            CompletableFuture<ReceivedMessage> receive = connection.receive(here.slice(0, 10));
            assertThat(receive).isNotDone();
        }
        assertThatThrownBy(() -> connection.receive(here.slice(0, 10)))
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("64 receives outstanding");
        get(connection.read(here.slice(0, 10), remote.slice(0, 10)));
    }
}
